"""The remedies' scores for PyTorch: where autograd is slow at a derivative, the derivative by hand.

Additive scores have a hidden number for every query, key and unit, d_k times as many as scores. Autograd would
take each operation of `Additive.scores`, and each of its derivative, through all of them and so through main
memory. Here a few heads at a time go through all operations while they are in the cache, and tanh(x) =
2 sigma(2x) - 1 comes from the logistic function sigma, which PyTorch computes several times faster.

Of a dot product q.k, autograd forms the gradient at the transposed keys, which must then be copied row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from attention_scaling.remedies import Additive, DotProduct, Parameters, Remedy

CACHED_NUMBERS = 2**18
"""How many hidden numbers the heads have that are taken together: a megabyte of float32."""


def scores_of(
    remedy: Remedy, queries: torch.Tensor, keys: torch.Tensor, parameters: Parameters
) -> torch.Tensor:
    """`remedy.scores` of queries and keys (runs, groups, T, d_k), to be differentiated once."""
    runs, groups, _, d_k = queries.shape
    each_query, each_key = queries.flatten(0, 1), keys.flatten(0, 1)
    if isinstance(remedy, DotProduct):
        scores = _Products.apply(each_query, each_key, remedy.multiplier(d_k))
    elif isinstance(remedy, Additive):
        read_out = parameters["read_out"].expand(runs, groups, d_k, 1).flatten(0, 1)
        biased = (keys + parameters["bias"]).flatten(0, 1)
        scores = _Pairs.apply(each_query, biased, read_out)
    else:
        return remedy.scores(queries, keys, parameters)
    return scores.unflatten(0, (runs, groups))


class _Products(torch.autograd.Function):
    """Multiplied dot products: queries (heads, T_q, d_k), keys (heads, T_k, d_k)."""

    @staticmethod
    def forward(
        ctx: Any, queries: torch.Tensor, keys: torch.Tensor, multiplier: float
    ) -> torch.Tensor:
        ctx.save_for_backward(queries, keys)
        ctx.multiplier = multiplier
        return (queries @ keys.mT).mul_(multiplier)

    @staticmethod
    def backward(ctx: Any, d_scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        queries, keys = ctx.saved_tensors
        multiplied = d_scores * ctx.multiplier
        return multiplied @ keys, multiplied.mT @ queries, None


class _Pairs(torch.autograd.Function):
    """The scores of heads: queries (heads, T_q, d_k), keys (heads, T_k, d_k), read-outs (heads, d_k, 1)."""

    @staticmethod
    def forward(
        ctx: Any, queries: torch.Tensor, keys: torch.Tensor, read_out: torch.Tensor
    ) -> torch.Tensor:
        heads, n_queries, d_k = queries.shape
        n_keys = keys.shape[1]
        sigma = queries.new_empty(heads, n_queries, n_keys, d_k)
        scores = queries.new_empty(heads, n_queries * n_keys, 1)
        doubled_queries, doubled_keys = 2 * queries[:, :, None], 2 * keys[:, None]
        for few in _passes(sigma):
            torch.add(doubled_queries[few], doubled_keys[few], out=sigma[few]).sigmoid_()
            torch.bmm(sigma[few].flatten(1, 2), read_out[few], out=scores[few])
        ctx.save_for_backward(sigma, read_out)
        return scores.view(heads, n_queries, n_keys).mul_(2).sub_(read_out.sum(1, keepdim=True))

    @staticmethod
    def backward(ctx: Any, d_scores: torch.Tensor) -> tuple[torch.Tensor, ...]:
        sigma, read_out = ctx.saved_tensors
        heads, n_queries, n_keys, d_k = sigma.shape
        d_queries = sigma.new_empty(heads, n_queries, d_k)
        d_keys = sigma.new_empty(heads, n_keys, d_k)
        d_read_out = sigma.new_empty(heads, 1, d_k)
        for few in _passes(sigma):
            hidden, above = sigma[few], d_scores[few]
            torch.bmm(above.flatten(1)[:, None], hidden.flatten(1, 2), out=d_read_out[few])
            slope = torch.addcmul(hidden, hidden, hidden, value=-1)
            d_queries[few] = (above[:, :, None] @ slope)[:, :, 0]
            d_keys[few] = (above.mT[:, :, None] @ slope.transpose(1, 2))[:, :, 0]
        # The derivative of tanh is 4 sigma (1 - sigma).
        factor = 4 * read_out.mT
        total = d_scores.sum((1, 2))[:, None, None]
        return d_queries.mul_(factor), d_keys.mul_(factor), d_read_out.mul_(2).sub_(total).mT


def _passes(sigma: torch.Tensor) -> Iterator[slice]:
    """Which heads to take together."""
    at_once = max(1, CACHED_NUMBERS // sigma[0].numel())
    for first in range(0, len(sigma), at_once):
        yield slice(first, first + at_once)
