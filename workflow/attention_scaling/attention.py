"""Attention as it is written on paper, forward and backward, for NumPy arrays and PyTorch tensors.

For queries Q of shape (..., T_q, d_k), keys K (..., T_k, d_k) and values V (..., T_k, d_v), with the same leading
batch and head dimensions (Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1, equation 1):

    S = c Q K^T,    A = softmax of each row of S,    O = A V,    c = 1 / sqrt(d_k)

Everything is written once against the Python array API standard. The score matrix and the weights are whole
matrices here, so memory grows with T_q T_k; `tiled` computes the same in blocks.

What holds for every function that takes these arguments:

- A boolean mask is True where a key takes part; any other mask has the dtype of the inputs and is added to the
  scaled scores. Both broadcast to (..., T_q, T_k), and combine with `causal`.
- `causal` lets query i see keys 0 to i, counted from the start of both also where T_q and T_k differ: the
  upper-left alignment, as in PyTorch's `scaled_dot_product_attention`.
- A query that sees no key at all has weights, output and gradients of zero, and passes no gradient on.
- Inputs are never written to. Scores must be finite in the dtype of the computation, apart from the -inf of a
  mask.
- `accumulate_dtype` is the dtype in which scores, weights, sums and their gradients are held; results come in
  the dtype of the inputs. It is float32 for float16 and bfloat16 unless given, else the dtype of the inputs.
- Wrong shapes, dtypes, devices and libraries raise `UserError` with the name of the argument.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np

from attention_scaling.attention_arguments import (
    AttentionArguments,
    apply_mask,
    check_attention,
    check_computed,
    check_floats,
    check_mask,
    check_output_gradient,
    check_rows,
    check_shape,
    computation_dtype,
)
from attention_scaling.backends import Array
from attention_scaling.errors import UserError


def softmax(scores: Array, *, mask: Array | None = None, accumulate_dtype: Any = None) -> Array:
    """The softmax over the last axis, stable: the largest score of a row is subtracted first.

    `scores` has shape (..., n); the result has its shape and dtype. Rows sum to 1, and rows without any key to 0.
    """
    xp = check_rows(scores=scores)
    if mask is not None:
        mask = check_mask(xp, mask, tuple(scores.shape), name="scores", like=scores)
    dtype = computation_dtype(xp, scores.dtype, accumulate_dtype)
    weights = xp.astype(scores, dtype, copy=True)
    if mask is not None:
        weights = apply_mask(xp, weights, mask)
    normalize_in_place(xp, weights)
    return xp.astype(weights, scores.dtype, copy=False)


def naive_softmax(scores: Array) -> Array:
    """exp(s) / sum exp(s) over the last axis as it stands, in the dtype of `scores`.

    Breaks, with infinities and NaN, where exp(s) or the sum exceeds the largest number of the dtype. That is what
    it is here to show; use `softmax` for anything else.
    """
    xp = check_rows(scores=scores)
    with np.errstate(over="ignore", invalid="ignore"):
        exponentials = xp.exp(scores)
        return exponentials / xp.sum(exponentials, axis=-1, keepdims=True, dtype=scores.dtype)


def scores(Q: Array, K: Array, scale: float | None = None) -> Array:
    """The scores c Q K^T of shape (..., T_q, T_k), all in the dtype of the inputs; c = 1/sqrt(d_k) if None."""
    check_floats(Q=Q)
    arguments = check_attention(Q, K, K, scale=scale, accumulate_dtype=Q.dtype)
    queries, keys, _ = arguments.operands()
    return queries @ keys.mT


def scaled_dot_product_attention(
    Q: Array,
    K: Array,
    V: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    accumulate_dtype: Any = None,
    return_weights: bool = False,
) -> Array | tuple[Array, Array]:
    """The output O of shape (..., T_q, d_v); with `return_weights` also A of shape (..., T_q, T_k).

    A keeps the dtype of the computation, ready for `attention_backward`.
    """
    arguments = check_attention(
        Q, K, V, mask=mask, causal=causal, scale=scale, accumulate_dtype=accumulate_dtype
    )
    queries, keys, values = arguments.operands()
    weights = _weights(arguments, queries, keys)
    output = arguments.restore(weights @ values)
    return (output, weights) if return_weights else output


def attention_backward(
    Q: Array,
    K: Array,
    V: Array,
    dO: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    accumulate_dtype: Any = None,
    weights: Array | None = None,
) -> tuple[Array, Array, Array]:
    """The gradients dQ, dK, dV of a loss with gradient `dO` at the output; each of the shape of its array.

    The chain rule through O = A V, the softmax and S = c Q K^T (Dao et al., "FlashAttention", 2022,
    appendix B.2):

        dV = A^T dO,  dA = dO V^T,  dS = A * (dA - rowsum(dA * A)),  dQ = c dS K,  dK = c dS^T Q

    `weights` is the A that the forward pass returned for the same arguments; without it A is computed again, for
    one more product of T_q T_k d_k. Masks need no case of their own: where A is 0, dS is 0.
    """
    arguments = check_attention(
        Q, K, V, mask=mask, causal=causal, scale=scale, accumulate_dtype=accumulate_dtype
    )
    check_output_gradient(arguments, dO)
    queries, keys, values = arguments.operands()
    if weights is None:
        weights = _weights(arguments, queries, keys)
    else:
        check_computed(arguments, "weights", weights, (*Q.shape[:-1], K.shape[-2]))
    dO = arguments.convert(dO)
    dV = weights.mT @ dO
    dA = dO @ values.mT
    dS = softmax_pullback(weights, dA, arguments.xp.vecdot(dA, weights))
    dQ = dS @ keys
    dQ *= arguments.scale
    dK = dS.mT @ queries
    return arguments.restore(dQ), arguments.restore(dK), arguments.restore(dV)


def score_gradient(A: Array, G: Array) -> Array:
    """The gradient at the scores of a softmax with weights `A`, given the gradient `G` at the weights.

    Row by row A * (G - rowsum(G * A)): the product of the softmax Jacobian with G in O(n), no Jacobian built.
    Both have shape (..., n). 16-bit inputs are computed in float32.
    """
    xp = check_rows(A=A, G=G)
    check_shape("G", G, tuple(A.shape), "that of A, ")
    dtype = computation_dtype(xp, A.dtype, None)
    weights, gradient = xp.astype(A, dtype, copy=False), xp.astype(G, dtype, copy=True)
    softmax_pullback(weights, gradient, xp.vecdot(gradient, weights))
    return xp.astype(gradient, A.dtype, copy=False)


def softmax_jacobian(a: Array) -> Array:
    """The softmax Jacobian diag(a) - a a^T, of shape (..., n, n), for weights of shape (..., n)."""
    xp = check_rows(a=a)
    identity = xp.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    return a[..., :, None] * (identity - a[..., None, :])


def scaled_score_moments(d_k: int, rho: float) -> tuple[float, float]:
    """Mean and variance of q.k / sqrt(d_k) for q and z standard normal, k = rho q + sqrt(1 - rho^2) z.

    q.k = rho |q|^2 + sqrt(1 - rho^2) q.z, where |q|^2 has mean d_k and variance 2 d_k and q.z mean 0 and variance
    d_k, uncorrelated with it. So the mean is rho sqrt(d_k) and the variance 2 rho^2 + (1 - rho^2) = 1 + rho^2.
    """
    if isinstance(d_k, bool) or not isinstance(d_k, Integral) or d_k < 1:
        raise UserError(f"d_k: {d_k!r}: allowed is a whole number from 1")
    if not -1 <= rho <= 1:
        raise UserError(f"rho: {rho!r}: allowed is a correlation from -1 to 1")
    return rho * math.sqrt(d_k), 1 + rho**2


def exponentiate_in_place(xp: Any, scores: Array, peak: Array) -> None:
    """Overwrite `scores` with exp(scores - peak); `peak` is finite and at least the largest score of its row."""
    # A difference below the smallest number of the dtype becomes -inf, whose exponential is the same 0.
    with np.errstate(over="ignore"):
        scores -= peak
    # `out=` is not in the standard, but both libraries have it, and a second array costs as much as exp itself.
    xp.exp(scores, out=scores)


def finite_peak(xp: Any, peak: Array) -> Array:
    """The rows' largest scores as what to subtract: 0 for a row that sees no key, whose largest is -inf."""
    return xp.where(peak == -math.inf, 0.0, peak)


def divisor(xp: Any, total: Array) -> Array:
    """The rows' sums of exponentials as what to divide by: 1 for a row that sees no key, whose sum is 0."""
    return xp.where(total == 0, 1.0, total)


def normalize_in_place(xp: Any, scores: Array) -> None:
    """Overwrite scores of shape (..., n) with their softmax."""
    exponentiate_in_place(xp, scores, finite_peak(xp, xp.max(scores, axis=-1, keepdims=True)))
    scores /= divisor(xp, xp.sum(scores, axis=-1, keepdims=True, dtype=scores.dtype))


def softmax_pullback(A: Array, G: Array, row_sums: Array) -> Array:
    """A * (G - row_sums), written into `G`; `row_sums` holds one number a row, the sum of G * A."""
    G -= row_sums[..., None]
    G *= A
    return G


def _weights(arguments: AttentionArguments, queries: Array, keys: Array) -> Array:
    weights = arguments.exclude(queries @ keys.mT)
    normalize_in_place(arguments.xp, weights)
    return weights
