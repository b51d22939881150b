"""How much gradient reaches W_Q and W_K through a real head, by divisor, over widths.

A head with fresh weights reads unit-variance inputs: Q = X W_Q, K = X W_K, V = X W_V with entries of variance
1 / d_model in each W, so queries and keys have unit-variance entries. A random upstream gradient dO comes down
and is taken back to the projections: dW_Q = X^T dQ, dW_K = X^T dK. The same head is run under each divisor, and
its gradient compared with that of the root-scaled head.
"""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, PositiveInt

from attention_scaling.attention import attention_backward
from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.divisors import DIVISORS, divisor_value
from attention_scaling.experiments.fields import KeyCounts, SampleSize, Widths
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.validation import StrictModel

NAME = "gradient"

FROZEN_RATIO = 0.01
"""A row counts as frozen when its query gets less than this share of the root-scaled gradient."""

QUANTITIES = {
    "gradient_norm_query": "mean Frobenius norm of the gradient at W_Q",
    "gradient_norm_key": "mean Frobenius norm of the gradient at W_K",
    "gradient_ratio_query": "mean of the norm at W_Q over that of the same head, root-scaled",
    "gradient_ratio_key": "mean of the norm at W_K over that of the same head, root-scaled",
    "frozen_share": "share of rows that pass under 1 % of the root-scaled gradient to their query",
}


class Settings(StrictModel):
    """Settings of the gradient experiment."""

    widths: Widths
    key_counts: KeyCounts
    d_model: Annotated[PositiveInt, Field(description="Width of the inputs of the head.")] = 64
    samples: SampleSize


def cells(settings: Settings) -> list[Cell]:
    """One cell for each width and number of positions; a row is a whole head with its inputs."""
    return [
        Cell(
            method="direct",
            samples=settings.samples,
            numbers_per_row=(3 * settings.d_model + 6 * n_keys) * d_k,
            d_k=d_k,
            n_keys=n_keys,
        )
        for n_keys in settings.key_counts
        for d_k in settings.widths
    ]


def sample(
    settings: Settings, cell: Cell, backend: Backend, draws: Draws, rows: int
) -> dict[Statistic, Array]:
    """Gradient norms of `rows` heads under each divisor."""
    xp = backend.xp
    d_model = settings.d_model
    inputs = draws.normal((rows, cell.n_keys, d_model))
    query, key, value = (
        xp.matmul(inputs, draws.normal((rows, d_model, cell.d_k)) / math.sqrt(d_model))
        for _ in range(3)
    )
    upstream = draws.normal((rows, cell.n_keys, cell.d_k))

    def gradients(divisor: str) -> tuple[Array, Array, Array]:
        """Norms at W_Q and W_K, shape (rows,), and at each query, shape (rows, n_keys)."""
        scale = 1 / divisor_value(divisor, cell.d_k)
        d_query, d_key, _ = attention_backward(query, key, value, upstream, scale=scale)
        inputs_t = xp.matrix_transpose(inputs)
        at_query, at_key = xp.matmul(inputs_t, d_query), xp.matmul(inputs_t, d_key)
        return _norm(xp, at_query, (1, 2)), _norm(xp, at_key, (1, 2)), _norm(xp, d_query, (2,))

    reference = gradients("root")
    found = {}
    for divisor in DIVISORS:
        at_query, at_key, by_row = reference if divisor == "root" else gradients(divisor)
        frozen = by_row < FROZEN_RATIO * reference[2]
        found |= {
            Statistic("gradient_norm_query", divisor): at_query,
            Statistic("gradient_norm_key", divisor): at_key,
            Statistic("gradient_ratio_query", divisor): at_query / reference[0],
            Statistic("gradient_ratio_key", divisor): at_key / reference[1],
            Statistic("frozen_share", divisor): xp.mean(xp.astype(frozen, xp.float64), axis=1),
        }
    return found


def _norm(xp: object, array: Array, axis: tuple[int, ...]) -> Array:
    return xp.sqrt(xp.sum(array * array, axis=axis))
