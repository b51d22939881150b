"""Attention in blocks: the same results as `attention`, and no matrix of T_q T_k numbers at any time.

The forward pass walks over blocks of keys with a running maximum and sum of each row (Milakov and Gimelshein,
"Online normalizer calculation for softmax", 2018, algorithm 3) and keeps the output O and the log-sum-exp of each
row of scores. The backward pass computes each block of weights again from it, and takes the row sums of dA * A
from D_i = dO_i . O_i (Dao et al., "FlashAttention", 2022, algorithms 1 and 4). Beyond the arrays that go in and
come out, memory is a few blocks and a few rows of one matrix: it grows with T, not with T^2.

Arguments mean what they mean in `attention`. `block` is the number of queries and of keys in a block; the default
suits the device.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from attention_scaling.attention import (
    divisor,
    exponentiate_in_place,
    finite_peak,
    softmax_pullback,
)
from attention_scaling.attention_arguments import (
    AttentionArguments,
    check_attention,
    check_computed,
    check_output_gradient,
)
from attention_scaling.backends import Array
from attention_scaling.errors import UserError

CPU_BLOCK = (512, 256)
"""512 KiB in float32: a block of weights and its gradients stay in the second-level cache of a core, and both
sides are long enough for matrix products at full speed."""

GPU_BLOCK = (1024, 1024)
"""A GPU takes this block of every matrix at once."""


@dataclass(frozen=True)
class Kept:
    """What the backward pass needs of the forward pass, in the dtype of the computation.

    `output` is O before it is rounded to the dtype of the inputs, and O itself where the two are one: from a
    rounded O, the row sums D_i would be the largest error of a 16-bit backward pass.

    `peak` is the largest score of each row and `total` the sum of exp(s - peak), both of shape (..., T_q), and
    both 0 for a query that sees no key. Together they are the log-sum-exp; held as a single number, it would lose
    log(total) beside a large peak.
    """

    output: Array
    peak: Array
    total: Array

    @property
    def log_sum_exp(self) -> Array:
        """The logarithm of the sum of exponentials of each row of scores; -inf for a query that sees no key."""
        with np.errstate(divide="ignore"):
            return self.peak + array_api_compat.array_namespace(self.total).log(self.total)


def tiled_attention(
    Q: Array,
    K: Array,
    V: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    accumulate_dtype: Any = None,
    block: tuple[int, int] | None = None,
) -> tuple[Array, Kept]:
    """The output O of shape (..., T_q, d_v), and what `tiled_attention_backward` needs."""
    arguments = check_attention(
        Q, K, V, mask=mask, causal=causal, scale=scale, accumulate_dtype=accumulate_dtype
    )
    tiles = _Tiles.of(arguments, block)
    kept = Kept(
        output=tiles.zeros((*Q.shape[:-1], V.shape[-1])),
        peak=tiles.zeros(Q.shape[:-1]),
        total=tiles.zeros(Q.shape[:-1]),
    )
    for matrix in tiles.matrices():
        _forward(tiles, matrix, kept)
    return arguments.restore(kept.output), kept


def tiled_attention_backward(
    Q: Array,
    K: Array,
    V: Array,
    dO: Array,
    kept: Kept,
    *,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    accumulate_dtype: Any = None,
    block: tuple[int, int] | None = None,
) -> tuple[Array, Array, Array]:
    """The gradients dQ, dK, dV for the gradient `dO` at the output, with what `tiled_attention` kept."""
    arguments = check_attention(
        Q, K, V, mask=mask, causal=causal, scale=scale, accumulate_dtype=accumulate_dtype
    )
    check_output_gradient(arguments, dO)
    if not isinstance(kept, Kept):
        raise UserError(
            f"kept: {type(kept).__name__}: allowed is the second of what tiled_attention returns"
        )
    check_computed(arguments, "kept.output", kept.output, (*Q.shape[:-1], V.shape[-1]))
    check_computed(arguments, "kept.peak", kept.peak, Q.shape[:-1])
    check_computed(arguments, "kept.total", kept.total, Q.shape[:-1])
    tiles = _Tiles.of(arguments, block)
    gradients = tuple(tiles.zeros(array.shape, array.dtype) for array in (Q, K, V))
    for matrix in tiles.matrices():
        _backward(tiles, matrix, dO, kept, gradients)
    return gradients


def _forward(tiles: _Tiles, matrix: tuple[int, ...], kept: Kept) -> None:
    """Fill what is kept of one matrix."""
    arguments, xp = tiles.arguments, tiles.arguments.xp
    queries, keys, values = arguments.operands(matrix)
    for rows in tiles.rows():
        q = queries[..., rows, :]
        # Of the keys seen so far: the largest score and, relative to it, the sums of exp(s) and of exp(s) v.
        peak = tiles.zeros((*q.shape[:-1], 1)) - math.inf
        total = tiles.zeros(peak.shape)
        weighted = tiles.zeros((*q.shape[:-1], values.shape[-1]))
        for columns in tiles.columns(rows):
            products = q @ keys[..., columns, :].mT
            scores = arguments.exclude(products, matrix, rows, columns)
            new_peak = xp.maximum(peak, xp.max(scores, axis=-1, keepdims=True))
            shift = finite_peak(xp, new_peak)
            exponentiate_in_place(xp, scores, shift)
            correction = xp.exp(peak - shift)
            total *= correction
            total += xp.sum(scores, axis=-1, keepdims=True, dtype=scores.dtype)
            weighted *= correction
            weighted += scores @ values[..., columns, :]
            peak = new_peak
        kept.output[matrix][..., rows, :] = weighted / divisor(xp, total)
        kept.peak[matrix][..., rows] = finite_peak(xp, peak)[..., 0]
        kept.total[matrix][..., rows] = total[..., 0]


def _backward(
    tiles: _Tiles, matrix: tuple[int, ...], dO: Array, kept: Kept, gradients: tuple[Array, ...]
) -> None:
    """Fill the gradients of one matrix."""
    arguments = tiles.arguments
    dQ, dK, dV = (array[matrix] for array in gradients)
    # A = exp(S - peak) / total, and every gradient is linear in it: the division is done on the rows of dO.
    totals = divisor(arguments.xp, kept.total[matrix])[..., None]
    output_gradients = arguments.convert(dO[matrix]) / totals
    row_sums = arguments.xp.vecdot(output_gradients, kept.output[matrix])
    peaks = kept.peak[matrix][..., None]
    queries, keys, values = arguments.operands(matrix)
    key_gradients, value_gradients = tiles.zeros(keys.shape), tiles.zeros(values.shape)
    for rows in tiles.rows():
        q, do = queries[..., rows, :], output_gradients[..., rows, :]
        query_gradients = tiles.zeros(q.shape)
        for columns in tiles.columns(rows):
            k, v = keys[..., columns, :], values[..., columns, :]
            exponentials = arguments.exclude(q @ k.mT, matrix, rows, columns)
            exponentiate_in_place(arguments.xp, exponentials, peaks[..., rows, :])
            value_gradients[..., columns, :] += exponentials.mT @ do
            score_gradients = softmax_pullback(exponentials, do @ v.mT, row_sums[..., rows])
            query_gradients += score_gradients @ k
            key_gradients[..., columns, :] += score_gradients.mT @ q
        dQ[..., rows, :] = arguments.restore(query_gradients * arguments.scale)
    dK[...] = arguments.restore(key_gradients)
    dV[...] = arguments.restore(value_gradients)


@dataclass(frozen=True)
class _Tiles:
    """The walk over the matrices of a call, and over the blocks of each."""

    arguments: AttentionArguments
    n_queries: int
    n_keys: int

    @classmethod
    def of(cls, arguments: AttentionArguments, block: tuple[int, int] | None) -> _Tiles:
        if block is None:
            block = CPU_BLOCK if arguments.on_cpu else GPU_BLOCK
        pair = isinstance(block, tuple | list) and len(block) == 2
        if not pair or not all(isinstance(n, int) and n >= 1 for n in block):
            raise UserError(f"block: {block}: allowed is a pair of whole numbers from 1")
        return cls(arguments, *block)

    def matrices(self) -> Iterator[tuple[int, ...]]:
        """Leading indices: of one matrix at a time, whose blocks stay in cache; on a GPU of all together."""
        return np.ndindex(*self.arguments.Q.shape[:-2]) if self.arguments.on_cpu else iter([()])

    def rows(self) -> list[slice]:
        """The blocks of queries."""
        return _slices(self.arguments.Q.shape[-2], self.n_queries)

    def columns(self, rows: slice) -> list[slice]:
        """The blocks of keys that some query of `rows` may see."""
        n_keys = self.arguments.K.shape[-2]
        return _slices(min(n_keys, rows.stop) if self.arguments.causal else n_keys, self.n_keys)

    def zeros(self, shape: tuple[int, ...], dtype: Any = None) -> Array:
        """Zeros beside the inputs, in the dtype of the computation unless told."""
        return self.arguments.xp.zeros(
            tuple(shape), dtype=dtype or self.arguments.dtype, device=self.arguments.device
        )


def _slices(length: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]
