"""Attention heads of all runs at once, under a remedy: from inputs to scores and weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attention_scaling.backends import Backend, Draws
from attention_scaling.remedies import Remedy
from attention_scaling.training.scores import scores_of

Parameters = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Attention:
    """What a head computes: queries (runs, groups, T_q, d_k), keys, and scores and weights (..., T_q, T_k).

    `bound` is what no |score| exceeds, (runs, 1, 1, 1) or one number, or None.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    scores: torch.Tensor
    weights: torch.Tensor
    bound: torch.Tensor | float | None


def initial_head(
    remedy: Remedy,
    backend: Backend,
    draws: Sequence[Draws],
    *,
    d_model: int,
    d_k: int,
    n_keys: int,
) -> Parameters:
    """W_Q, W_K and the remedy's own parameters, float64, one run for each stream in `draws`.

    The entries of W_K have a standard deviation of 1 / sqrt(d_model), so keys have unit variance for inputs that
    have it; those of W_Q the same times the remedy's factor.
    """
    heads = []
    for stream in draws:
        query, key = (stream.normal((d_model, d_k)) / math.sqrt(d_model) for _ in range(2))
        own = remedy.parameters(backend, stream, (1,), d_k=d_k, n_keys=n_keys)
        heads.append({"query": query * remedy.query_factor(d_k), "key": key, **own})
    return {name: torch.stack([torch.as_tensor(h[name]) for h in heads]) for name in heads[0]}


def attend(
    remedy: Remedy,
    parameters: Parameters,
    query_inputs: torch.Tensor,
    key_inputs: torch.Tensor,
    hidden: torch.Tensor | None = None,
) -> Attention:
    """The head on inputs (runs, groups, T, d_model); `hidden` (T_q, T_k) is True where a key is not seen."""
    queries = project(query_inputs, parameters["query"])
    keys = project(key_inputs, parameters["key"])
    own = {name: value for name, value in parameters.items() if name not in ("query", "key")}
    scores = scores_of(remedy, queries, keys, own)
    seen = scores if hidden is None else scores.masked_fill(hidden, -math.inf)
    weights = torch.softmax(seen, dim=-1)
    return Attention(
        queries, keys, scores, weights, remedy.bound(own, d_k=parameters["key"].shape[-1])
    )


def project(inputs: torch.Tensor, matrices: torch.Tensor) -> torch.Tensor:
    """(runs, groups, T, n) times (runs, n, m): all groups of a run in one product."""
    runs, groups, positions, _ = inputs.shape
    product = torch.bmm(inputs.reshape(runs, groups * positions, -1), matrices)
    return product.view(runs, groups, positions, -1)
