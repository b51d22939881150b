"""How much gradient reaches W_Q and W_K through a real head, by divisor, over widths; and what its scores get.

A head with fresh weights reads unit-variance inputs: Q = X W_Q, K = X W_K, V = X W_V with entries of variance
1 / d_model in each W, so queries and keys have unit-variance entries. A random upstream gradient dO comes down
and is taken back to the projections: dW_Q = X^T dQ, dW_K = X^T dK. The same head is run under each divisor, and
its gradient compared with that of the root-scaled head.

Two things act on the way: the softmax Jacobian, which closes with the width when nothing is divided, and the
factor 1 / divisor of the chain rule behind it, which is sqrt(d_k) larger without the root. The gradient at the
scores shows the first alone, the one at W_Q and W_K both. `score_gradients` looks at the first more closely.
"""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import AfterValidator, Field, PositiveInt

from attention_scaling.attention import (
    attention_backward,
    scaled_dot_product_attention,
    score_gradient,
)
from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.divisors import DIVISORS, divisor_value
from attention_scaling.experiments import score_gradients
from attention_scaling.experiments.fields import KeyCounts, SampleSize, Widths, unique
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.measurement import Measurement
from attention_scaling.validation import StrictModel

NAME = "gradient"

FROZEN_RATIO = 0.01
"""A row counts as frozen when its scores get less than this share of the root-scaled gradient."""

QUANTITIES = {
    "gradient_norm_query": "mean Frobenius norm of the gradient at W_Q",
    "gradient_norm_key": "mean Frobenius norm of the gradient at W_K",
    "gradient_ratio_query": "mean of the norm at W_Q over that of the same head, root-scaled",
    "gradient_ratio_key": "mean of the norm at W_K over that of the same head, root-scaled",
    "gradient_norm_scores": "mean Frobenius norm of the gradient at the scores",
    "gradient_ratio_scores": "mean of that norm over that of the same head, root-scaled",
    "frozen_share": "share of rows whose scores get under 1 % of the root-scaled gradient",
    **score_gradients.QUANTITIES,
}


class Settings(StrictModel):
    """Settings of the gradient experiment."""

    widths: Widths
    key_counts: KeyCounts
    d_model: Annotated[PositiveInt, Field(description="Width of the inputs of the head.")] = 64
    samples: SampleSize
    score_samples: Annotated[SampleSize, Field(description="Rows of scores without a head.")] = 1000
    tiny_key_counts: Annotated[
        list[Annotated[int, Field(ge=2)]],
        Field(description="Numbers of keys in rows of tiny scores."),
        AfterValidator(unique),
    ] = [32, 128, 512, 2048]


def cells(settings: Settings) -> list[Cell]:
    """One cell for each width and number of positions, a row of it a whole head; and those of scores alone."""
    heads = [
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
    return heads + score_gradients.cells(
        settings.key_counts, settings.widths, settings.tiny_key_counts, settings.score_samples
    )


def sample(
    settings: Settings, cell: Cell, backend: Backend, draws: Draws, rows: int
) -> dict[Statistic, Array]:
    """Gradient norms of `rows` heads under each divisor, or what `rows` rows of scores get."""
    if cell.cell is not None:
        return score_gradients.sample(cell, backend, draws, rows)
    xp = backend.xp
    d_model = settings.d_model
    inputs = draws.normal((rows, cell.n_keys, d_model))
    query, key, value = (
        xp.matmul(inputs, draws.normal((rows, d_model, cell.d_k)) / math.sqrt(d_model))
        for _ in range(3)
    )
    upstream = draws.normal((rows, cell.n_keys, cell.d_k))

    d_weights = xp.matmul(upstream, xp.matrix_transpose(value))
    inputs_t = xp.matrix_transpose(inputs)

    def norms(divisor: str) -> tuple[dict[str, Array], Array]:
        """Norms by place, each of shape (rows,), and those of the scores' rows, (rows, n_keys)."""
        scale = 1 / divisor_value(divisor, cell.d_k)
        _, weights = scaled_dot_product_attention(
            query, key, value, scale=scale, return_weights=True
        )
        d_query, d_key, _ = attention_backward(
            query, key, value, upstream, scale=scale, weights=weights
        )
        d_scores = score_gradient(weights, d_weights)
        by_place = {
            "query": _norm(xp, xp.matmul(inputs_t, d_query), (1, 2)),
            "key": _norm(xp, xp.matmul(inputs_t, d_key), (1, 2)),
            "scores": _norm(xp, d_scores, (1, 2)),
        }
        return by_place, _norm(xp, d_scores, (2,))

    reference, reference_rows = norms("root")
    found = {}
    for divisor in DIVISORS:
        by_place, by_row = (reference, reference_rows) if divisor == "root" else norms(divisor)
        for place, norm in by_place.items():
            found[Statistic(f"gradient_norm_{place}", divisor)] = norm
            found[Statistic(f"gradient_ratio_{place}", divisor)] = norm / reference[place]
        frozen = xp.astype(by_row < FROZEN_RATIO * reference_rows, xp.float64)
        found[Statistic("frozen_share", divisor)] = xp.mean(frozen, axis=1)
    return found


def derive(settings: Settings, measurements: list[Measurement]) -> list[Measurement]:
    """How the derivative by a tiny score falls with the number of keys."""
    return list(score_gradients.derive(measurements))


def _norm(xp: object, array: Array, axis: tuple[int, ...]) -> Array:
    return xp.sqrt(xp.sum(array * array, axis=axis))
