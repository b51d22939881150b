"""The arguments of an attention call, checked once for the plain and the tiled version alike.

Both versions take the same arguments and mean the same by them; what a mask, the causal flag, the scale and the
accumulate dtype mean is decided here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import array_api_compat

from attention_scaling.backends import DTYPES, Array
from attention_scaling.errors import UserError

ALL = slice(None)
"""All rows, or all columns, of a matrix."""


@dataclass(frozen=True)
class AttentionArguments:
    """Checked arguments of one call.

    `Q`, `K` and `V` are as given; `mask` is broadcast to (..., T_q, T_k) without a copy; `dtype` is the one in
    which scores, weights and their gradients are computed and added up.
    """

    xp: Any
    Q: Array
    K: Array
    V: Array
    mask: Array | None
    causal: bool
    scale: float
    dtype: Any

    @property
    def device(self) -> Any:
        """Where the arrays are."""
        return array_api_compat.device(self.Q)

    @property
    def on_cpu(self) -> bool:
        """Whether a processor with caches computes, or a device that wants much work at once."""
        return str(self.device) == "cpu"

    def operands(self, matrix: tuple[int, ...] = ()) -> tuple[Array, Array, Array]:
        """Give c Q, K and V in the dtype of the computation, of one matrix or of all.

        To scale Q takes T_q d_k products, to scale the scores would take T_q T_k.
        """
        queries, keys, values = (self.convert(array[matrix]) for array in (self.Q, self.K, self.V))
        return queries * self.scale, keys, values

    def convert(self, array: Array) -> Array:
        """`array` in the dtype of the computation; the same array where it has it already."""
        return self.xp.astype(array, self.dtype, copy=False)

    def restore(self, array: Array) -> Array:
        """`array` in the dtype of the inputs."""
        return self.xp.astype(array, self.Q.dtype, copy=False)

    def exclude(
        self, scores: Array, matrix: tuple[int, ...] = (), rows: slice = ALL, columns: slice = ALL
    ) -> Array:
        """A block of scores after the mask and the causal rule; what is left out becomes -inf.

        The block holds `rows` and `columns` of the matrix at the leading index `matrix`, or of every matrix.
        Overwrites `scores` where it can.
        """
        xp = self.xp
        if self.causal:
            first, last, _ = rows.indices(self.Q.shape[-2])
            left, right, _ = columns.indices(self.K.shape[-2])
            if right - 1 > first:
                queries = xp.arange(first, last, device=self.device)[:, None]
                keys = xp.arange(left, right, device=self.device)[None, :]
                scores = xp.where(keys <= queries, scores, -math.inf)
        if self.mask is not None:
            scores = apply_mask(xp, scores, self.mask[matrix][..., rows, columns])
        return scores


def apply_mask(xp: Any, scores: Array, mask: Array) -> Array:
    """Scores after a boolean mask (True takes part) or an additive one; may overwrite `scores`."""
    if xp.isdtype(mask.dtype, "bool"):
        return xp.where(mask, scores, -math.inf)
    scores += xp.astype(mask, scores.dtype, copy=False)
    return scores


def check_attention(
    Q: Array,
    K: Array,
    V: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    accumulate_dtype: Any = None,
) -> AttentionArguments:
    """The arguments of attention, or a `UserError` that names the one that is wrong and what is allowed."""
    xp = check_floats(Q=Q, K=K, V=V)
    for name, array in (("Q", Q), ("K", K), ("V", V)):
        if array.ndim < 2:
            raise UserError(
                f"{name}: shape {tuple(array.shape)}: allowed is (..., positions, width)"
            )
    *lead, n_queries, d_k = Q.shape
    n_keys = K.shape[-2]
    check_shape("K", K, (*lead, n_keys, d_k), "Q's leading dimensions and width, ")
    check_shape("V", V, (*lead, n_keys, V.shape[-1]), "K's leading dimensions and positions, ")
    if d_k == 0 or n_keys == 0:
        raise UserError(
            f"K: shape {tuple(K.shape)}: allowed is a position and a width of at least 1"
        )
    if mask is not None:
        mask = check_mask(xp, mask, (*lead, n_queries, n_keys), name="Q", like=Q)
    if scale is None:
        scale = 1 / math.sqrt(d_k)
    elif isinstance(scale, bool) or not isinstance(scale, Real) or not _is_finite(scale):
        raise UserError(f"scale: {scale!r}: allowed is a finite number")
    dtype = computation_dtype(xp, Q.dtype, accumulate_dtype)
    return AttentionArguments(xp, Q, K, V, mask, bool(causal), float(scale), dtype)


def check_output_gradient(arguments: AttentionArguments, dO: Array) -> None:
    """Raise `UserError` unless `dO` has the output's shape and the inputs' dtype and device."""
    check_floats(Q=arguments.Q, dO=dO)
    shape = (*arguments.Q.shape[:-1], arguments.V.shape[-1])
    check_shape("dO", dO, shape, "that of the output, ")


def check_computed(
    arguments: AttentionArguments, name: str, array: Array, shape: tuple[int, ...]
) -> None:
    """Raise `UserError` unless `array` is one that the forward pass kept, in the dtype of the computation."""
    _check_place(name, array, "Q", arguments.Q)
    if array.dtype != arguments.dtype:
        raise UserError(
            f"{name}: dtype {array.dtype}: allowed is that of the computation, "
            f"{dtype_name(arguments.xp, arguments.dtype)}"
        )
    check_shape(name, array, tuple(shape), "that of the forward pass, ")


def check_floats(**arrays: Array) -> Any:
    """The namespace of the arrays, which share library, device and a floating-point dtype, else `UserError`."""
    first_name, first = next(iter(arrays.items()))
    for name, array in arrays.items():
        xp = _check_place(name, array, first_name, first)
        if dtype_name(xp, array.dtype) is None:
            raise UserError(f"{name}: dtype {array.dtype}: allowed are {', '.join(DTYPES)}")
        if array.dtype != first.dtype:
            raise UserError(
                f"{name}: dtype {array.dtype}: allowed is that of {first_name}, {first.dtype}"
            )
    return xp


def check_rows(**arrays: Array) -> Any:
    """The namespace of arrays of rows, which `check_floats` checks; `UserError` where a row has no position."""
    xp = check_floats(**arrays)
    for name, array in arrays.items():
        if array.ndim == 0 or array.shape[-1] == 0:
            raise UserError(
                f"{name}: shape {tuple(array.shape)}: allowed is (..., positions), a position at least"
            )
    return xp


def check_mask(xp: Any, mask: Array, shape: tuple[int, ...], *, name: str, like: Array) -> Array:
    """`mask` broadcast to `shape`; `UserError` unless boolean or of the dtype of `like`, called `name`."""
    _check_place("mask", mask, name, like)
    if mask.dtype != like.dtype and not xp.isdtype(mask.dtype, "bool"):
        raise UserError(
            f"mask: dtype {mask.dtype}: allowed are bool (True takes part) and that of {name}, {like.dtype}"
        )
    try:
        return xp.broadcast_to(mask, shape)
    except (ValueError, RuntimeError):
        raise UserError(
            f"mask: shape {tuple(mask.shape)}: allowed is what broadcasts to {shape}"
        ) from None


def check_shape(name: str, array: Array, shape: tuple[int, ...], why: str = "") -> None:
    """Raise `UserError` unless `array` has exactly this shape."""
    if tuple(array.shape) != shape:
        raise UserError(f"{name}: shape {tuple(array.shape)}: allowed is {why}{shape}")


def computation_dtype(xp: Any, dtype: Any, accumulate_dtype: Any) -> Any:
    """The dtype to compute in: the one asked for; else float32 for the 16-bit dtypes, and `dtype` itself."""
    if accumulate_dtype is None:
        return xp.float32 if xp.finfo(dtype).bits < 32 else dtype
    if dtype_name(xp, accumulate_dtype) is None:
        raise UserError(
            f"accumulate_dtype: {accumulate_dtype!r}: allowed are the namespace's "
            f"{', '.join(name for name in DTYPES if hasattr(xp, name))}"
        )
    return accumulate_dtype


def dtype_name(xp: Any, dtype: Any) -> str | None:
    """The name of a floating-point dtype of this namespace; None for anything else."""
    known = (name for name in DTYPES if hasattr(xp, name) and getattr(xp, name) == dtype)
    return next(known, None)


def _is_finite(number: Real) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond all floats
        return False


def _check_place(name: str, array: Array, other_name: str, other: Array) -> Any:
    """The namespace of `array`; `UserError` unless it is NumPy's or PyTorch's and beside `other`."""
    for library in (array_api_compat.is_numpy_array, array_api_compat.is_torch_array):
        if library(array) and library(other):
            break
    else:
        raise UserError(
            f"{name}: {type(array).__name__} beside {other_name} of type {type(other).__name__}: "
            "allowed are NumPy arrays alone or torch tensors alone"
        )
    device, wanted = array_api_compat.device(array), array_api_compat.device(other)
    if device != wanted:
        raise UserError(f"{name}: device {device}: allowed is that of {other_name}, {wanted}")
    xp = array_api_compat.array_namespace(array)
    # The functions overwrite their own intermediate arrays, which automatic differentiation does not allow.
    if getattr(array, "requires_grad", False) and xp.is_grad_enabled():
        raise UserError(
            f"{name}: a tensor that requires grad: allowed are detached tensors; "
            "attention_backward gives the gradients"
        )
    return xp
