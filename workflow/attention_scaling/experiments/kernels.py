"""PyTorch's own attention kernels beside this project's: errors in real low precision, and dropout.

Each kernel of `scaled_dot_product_attention` that the installed PyTorch has on the device runs by name, forward
and backward, on the same arrays as the two versions here, plain and tiled. What counts is the error against the
same call in float64, held against PyTorch's own: the tests of flash-attention allow twice as much (Dao et al.,
"FlashAttention", 2022, repository, tests). A kernel that does not take a call is a row with PyTorch's reason.

Dropout has no part in the formula and PyTorch alone offers it: what it does to the weights is measured by handing
it the identity matrix for values, what it does on average to an output by running one head many times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, PositiveInt

from attention_scaling.backends import Array, Backend
from attention_scaling.experiments.fields import SampleSize, unique
from attention_scaling.experiments.versions import versions
from attention_scaling.measurement import Measurement
from attention_scaling.sampling.streams import block_seed
from attention_scaling.validation import StrictModel

NAME = "kernels"

RESULTS = ("O", "dQ", "dK", "dV")

QUANTITIES = {
    **{
        f"error_{result}": f"root mean square error of {result} against float64, relative to its size"
        for result in RESULTS
    },
    "error_ratio": "that error over the error of PyTorch's math kernel, the largest of output and gradients",
    "dropout_zero_share": "share of the weights that dropout sets to zero",
    "dropout_rescale_error": "largest relative error of 1 / (1 - rate) as the factor of the weights it keeps",
    "dropout_output_mean": "mean over dropouts of the output's component along the output without dropout",
}

SEED = 1
HEADS = (2, 2)
"""Leading dimensions of the compared calls: batch and heads."""
DROPPED_HEADS = 16
"""Heads in which dropped weights are counted."""


class Settings(StrictModel):
    """Settings of the kernels experiment."""

    dtypes: Annotated[
        list[Literal["float32", "bfloat16", "float16"]],
        Field(min_length=1, description="Dtypes of the inputs; the reference is float64."),
        AfterValidator(unique),
    ] = ["float32", "bfloat16", "float16"]
    positions: Annotated[PositiveInt, Field(description="Queries and keys of a head.")] = 128
    d_k: Annotated[PositiveInt, Field(description="Width of queries, keys and values.")] = 64
    dropout_rate: Annotated[float, Field(gt=0, lt=1, description="Share of weights to drop.")] = 0.1
    dropout_runs: Annotated[SampleSize, Field(description="Dropouts of one head.")] = 4000


@dataclass(frozen=True)
class Case:
    """One call: Q, K, V, dO, and the options that `attention` and the kernels share."""

    arrays: tuple[Array, ...]
    causal: bool = False
    scale: float | None = None
    mask: Array | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options as keyword arguments."""
        return {"causal": self.causal, "scale": self.scale, "mask": self.mask}

    def rounded(self, backend: Backend, dtype: str) -> Case:
        """The same call with all its numbers in `dtype`."""
        mask = self.mask
        if mask is not None and mask.dtype != backend.xp.bool:
            mask = backend.asarray(mask, dtype)
        return replace(
            self, arrays=tuple(backend.asarray(array, dtype) for array in self.arrays), mask=mask
        )


def measure(settings: Settings, backend: Backend) -> Iterator[Measurement]:
    """Errors of all kernels in all cases and dtypes, and dropout under each kernel; PyTorch alone."""
    for dtype in settings.dtypes:
        labels = Measurement(
            experiment=NAME,
            quantity="",
            method="arithmetic",
            backend=backend.name,
            device=backend.device,
            dtype=dtype,
            d_k=settings.d_k,
            n_keys=settings.positions,
        )
        for name, case in cases(settings, backend).items():
            yield from _errors(backend, replace(labels, cell=name), case.rounded(backend, dtype))
        yield from _dropout(settings, backend, replace(labels, d_k=None, n_keys=None))


def cases(settings: Settings, backend: Backend) -> dict[str, Case]:
    """The calls that are compared, by name; NumPy draws them, the same for every device."""
    rng = np.random.default_rng(SEED)
    n = settings.positions
    arrays = tuple(backend.asarray(rng.normal(size=(*HEADS, n, settings.d_k))) for _ in range(4))
    # Every query sees its own key: what a kernel makes of a query that sees none is its own affair.
    seen = (rng.random((n, n)) < 0.5) | np.eye(n, dtype=bool)
    added = np.where(seen, rng.normal(size=(n, n)), -np.inf)
    return {
        "bare": Case(arrays),
        "causal": Case(arrays, causal=True),
        "scale": Case(arrays, scale=0.5),
        "boolean mask": Case(arrays, mask=backend.asarray(seen, "bool")),
        "additive mask": Case(arrays, mask=backend.asarray(added)),
    }


def _errors(backend: Backend, labels: Measurement, case: Case) -> Iterator[Measurement]:
    """A row for each version and result, in the dtype of the case."""
    from attention_scaling.torch_kernels import KERNELS, run_kernel

    # The reference takes the rounded inputs: the computation is judged, not what it is given.
    exact = case.rounded(backend, "float64")
    reference = run_kernel("math", *exact.arrays, **exact.options)
    truth = [backend.to_numpy(array) for array in (reference.output, *reference.gradients)]
    ours = versions()
    errors = {
        name: _relative(backend, version.whole(*case.arrays, **case.options), truth)
        for name, version in ours.items()
    }
    for kernel in KERNELS:
        result = run_kernel(kernel, *case.arrays, **case.options)
        if result.unavailable is None:
            errors[kernel] = _relative(backend, (result.output, *result.gradients), truth)
            continue
        for name in RESULTS:
            row = replace(labels, quantity=f"error_{name}", variant=kernel)
            yield replace(row, skipped=result.unavailable)
    for variant, found in errors.items():
        for name, error in zip(RESULTS, found, strict=True):
            row = replace(labels, quantity=f"error_{name}", variant=variant)
            yield replace(row, value=error, stderr=0.0, theory=0.0)
    for variant in ours:
        ratios = [own / other for own, other in zip(errors[variant], errors["math"], strict=True)]
        row = replace(labels, quantity="error_ratio", variant=variant)
        yield replace(row, value=max(ratios), stderr=0.0)


def _relative(
    backend: Backend, results: Sequence[Array], truth: Sequence[np.ndarray]
) -> list[float]:
    """Root mean square of each result's error over that of the exact result."""
    return [
        float(np.linalg.norm(backend.to_numpy(result) - exact) / np.linalg.norm(exact))
        for result, exact in zip(results, truth, strict=True)
    ]


def _dropout(settings: Settings, backend: Backend, labels: Measurement) -> Iterator[Measurement]:
    """What each kernel's dropout does to weights and, on average, to an output."""
    import torch

    from attention_scaling.torch_kernels import KERNELS

    gpu = [backend.device] if backend.device == "cuda" else []
    for kernel in KERNELS:
        row = replace(labels, variant=kernel)
        seed = block_seed(SEED, NAME, f"{kernel},{row.dtype}", 0)
        with torch.random.fork_rng(devices=gpu):
            torch.manual_seed(int(seed.generate_state(1)[0]))
            rows = [
                *_dropped_weights(settings, backend, row),
                *_dropped_output(settings, backend, row),
            ]
        yield from rows


def _dropped_weights(
    settings: Settings, backend: Backend, row: Measurement
) -> Iterator[Measurement]:
    """With the identity matrix for values the output is the matrix of weights, here 1/n each."""
    from attention_scaling.torch_kernels import run_kernel

    n, rate = settings.positions, settings.dropout_rate
    shape = (1, DROPPED_HEADS, n, n)
    zeros = backend.asarray(np.zeros(shape), row.dtype)
    values = backend.asarray(np.broadcast_to(np.eye(n), shape).copy(), row.dtype)
    result = run_kernel(row.variant, zeros, zeros, values, zeros, dropout=rate)
    share = replace(row, quantity="dropout_zero_share", method="direct", theory=rate)
    rescale = replace(row, quantity="dropout_rescale_error", theory=0.0)
    if result.unavailable is not None:
        for skipped in (share, rescale):
            yield replace(skipped, theory=None, skipped=result.unavailable)
        return
    weights = backend.to_numpy(result.output)
    zero = np.mean(weights == 0)
    stderr = math.sqrt(zero * (1 - zero) / weights.size)
    yield replace(share, samples=weights.size, value=float(zero), stderr=stderr)
    kept = weights[weights != 0] * n * (1 - rate)
    yield replace(rescale, value=float(np.abs(kept - 1).max()), stderr=0.0)


def _dropped_output(
    settings: Settings, backend: Backend, row: Measurement
) -> Iterator[Measurement]:
    """One small head, many times over: the mean of its output is the output without dropout."""
    from attention_scaling.torch_kernels import run_kernel

    rng = np.random.default_rng(SEED)
    runs, head = settings.dropout_runs, (1, 1, 16, 16)
    Q, K, V = (backend.asarray(rng.normal(size=head), row.dtype) for _ in range(3))
    many = [backend.xp.broadcast_to(array, (runs, *head[1:])) for array in (Q, K, V)]
    whole = run_kernel(row.variant, Q, K, V, V)
    result = run_kernel(row.variant, *many, many[2], dropout=settings.dropout_rate)
    row = replace(row, quantity="dropout_output_mean", method="direct")
    if reason := whole.unavailable or result.unavailable:
        yield replace(row, skipped=reason)
        return
    output = backend.to_numpy(whole.output)
    along = (backend.to_numpy(result.output) * output).sum(axis=(1, 2, 3)) / np.sum(output**2)
    yield replace(
        row,
        samples=runs,
        value=float(along.mean()),
        stderr=float(along.std(ddof=1) / math.sqrt(runs)) if runs > 1 else None,
        theory=1.0,
    )
