"""Where arrays live: NumPy, PyTorch on the CPU, PyTorch on CUDA, behind one array-API namespace each.

An experiment asks a `Backend` for its namespace `xp`, for arrays, and for a `Draws`: the backend's own random
generator, seeded by a NumPy `SeedSequence`. PyTorch is imported only when it is asked for, because that alone
takes longer than many jobs.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from attention_scaling.errors import UserError

Array = Any
"""An array of whichever library the backend stands for."""

NAMES = ("numpy", "torch")
DEVICES = ("cpu", "cuda")
BLOCK_ROWS = {"cpu": 2**14, "cuda": 2**20}
"""Rows of a whole block, which draws from one stream: few enough that small cells spread over shards."""

TILE_NUMBERS = {"cpu": 2**15, "cuda": 2**25}
"""How many numbers one tile of a block holds: what stays in the second-level cache of a core, or what keeps a
GPU busy. Like `BLOCK_ROWS` constants, so that results never depend on the machine."""

DTYPES = ("float64", "float32", "bfloat16", "float16")


# NumPy's exponential takes three times as long where it underflows, as it does all over wide undivided rows.
_EXPONENT_FLOOR = {
    name: float(np.log(np.finfo(name).smallest_normal)) for name in ("float64", "float32")
}


class UnavailableError(Exception):
    """The backend or device is not on this machine; the message says why."""


class Draws(Protocol):
    """A seeded stream of random numbers on one backend; `dtype` is float64 or float32."""

    def normal(self, shape: tuple[int, ...], dtype: str = "float64") -> Array:
        """Independent standard normal numbers."""

    def uniform(self, shape: tuple[int, ...], dtype: str = "float64") -> Array:
        """Independent numbers, uniform on [0, 1)."""

    def chi_square(self, degrees: Array | float, shape: tuple[int, ...]) -> Array:
        """Independent float64 chi-squared numbers; `degrees` broadcasts against `shape`."""


@dataclass(frozen=True)
class Backend:
    """An array library on a device."""

    name: str
    device: str
    xp: Any = field(repr=False)
    block_rows: int
    tile_numbers: int

    def dtype(self, name: str) -> Any:
        """The library's dtype of that name; `UnavailableError` where it has none."""
        if not hasattr(self.xp, name):
            raise UnavailableError(f"{self.name} has no dtype {name}")
        return getattr(self.xp, name)

    def asarray(self, values: Any, dtype: str = "float64") -> Array:
        """An array on this backend's device."""
        return self.xp.asarray(values, dtype=self.dtype(dtype), device=self.device)

    def to_numpy(self, array: Array) -> np.ndarray:
        """A NumPy array with the same numbers, on the host, in float64."""
        if self.name == "numpy":
            return np.asarray(array, dtype=np.float64)
        return array.detach().to("cpu", self.xp.float64).numpy()

    def exp_in_place(self, array: Array) -> Array:
        """Overwrite `array` with its exponential; the array API standard has no such function.

        What would underflow in float64 or float32 comes out as the smallest normal number instead of 0.
        """
        if self.name != "numpy":
            return array.exp_()
        floor = _EXPONENT_FLOOR.get(array.dtype.name)
        if floor is not None:
            np.maximum(array, floor, out=array)
        return np.exp(array, out=array)

    def draws(self, seed: np.random.SeedSequence) -> Draws:
        """The backend's own generator, started from `seed`."""
        return _NumpyDraws(seed) if self.name == "numpy" else _TorchDraws(seed, self.device)


class _NumpyDraws:
    # SFC64 is the fastest bit generator that NumPy has and passes the usual batteries of tests.
    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._generator = np.random.Generator(np.random.SFC64(seed))

    def normal(self, shape: tuple[int, ...], dtype: str = "float64") -> np.ndarray:
        return self._generator.standard_normal(shape, dtype=np.dtype(dtype))

    def uniform(self, shape: tuple[int, ...], dtype: str = "float64") -> np.ndarray:
        return self._generator.random(shape, dtype=np.dtype(dtype))

    def chi_square(self, degrees: Any, shape: tuple[int, ...]) -> np.ndarray:
        numbers = self._generator.standard_gamma(np.asarray(degrees) / 2, size=shape)
        numbers *= 2
        return numbers


class _TorchDraws:
    def __init__(self, seed: np.random.SeedSequence, device: str) -> None:
        import torch

        self._torch = torch
        self._device = device
        self._generator = torch.Generator(device)
        # torch takes a signed 64-bit seed.
        self._generator.manual_seed(int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1)))

    def _options(self, dtype: str) -> dict[str, Any]:
        return {
            "generator": self._generator,
            "device": self._device,
            "dtype": getattr(self._torch, dtype),
        }

    def normal(self, shape: tuple[int, ...], dtype: str = "float64") -> Array:
        return self._torch.randn(shape, **self._options(dtype))

    def uniform(self, shape: tuple[int, ...], dtype: str = "float64") -> Array:
        return self._torch.rand(shape, **self._options(dtype))

    def chi_square(self, degrees: Any, shape: tuple[int, ...]) -> Array:
        halves = self._torch.as_tensor(degrees, dtype=self._torch.float64, device=self._device) / 2
        concentration = halves.expand(shape).contiguous()
        return 2 * self._torch._standard_gamma(concentration, generator=self._generator)


def load(name: str, device: str = "cpu") -> Backend:
    """The backend `name` on `device`.

    Raises `UserError` for a name or device that does not exist or a pair that makes no sense, and
    `UnavailableError`, with the reason, for a device that this machine lacks.
    """
    if name not in NAMES:
        raise UserError(f"backend {name!r}: allowed are {', '.join(NAMES)}")
    if device not in DEVICES:
        raise UserError(f"device {device!r}: allowed are {', '.join(DEVICES)}")
    if name == "numpy":
        if device != "cpu":
            raise UserError("device 'cuda' with backend 'numpy': NumPy runs on the cpu alone")
        import array_api_compat.numpy as xp

        return _backend(name, device, xp)
    if device == "cuda":
        _require_nvidia_driver()
    import array_api_compat.torch as xp
    import torch

    # One thread a job: more would change the order of sums, and with it the last digits.
    torch.set_num_threads(1)
    if device == "cuda":
        if not torch.cuda.is_available():
            raise UnavailableError(
                "torch.cuda.is_available() is false: no CUDA device, or a CPU build"
            )
        torch.backends.cuda.matmul.allow_tf32 = False
    return _backend(name, device, xp)


def _backend(name: str, device: str, xp: Any) -> Backend:
    return Backend(name, device, xp, BLOCK_ROWS[device], TILE_NUMBERS[device])


def _require_nvidia_driver() -> None:
    """Raise `UnavailableError` where there is no NVIDIA driver: quicker than importing torch to hear it."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise UnavailableError(
            "no CUDA device: the NVIDIA driver library is not installed"
        ) from error
