"""Every remedy in a head that has not been trained: size of its scores, closing, and gradient, over widths.

A head with fresh weights reads unit-variance inputs, queries from one set of positions and keys from another:
q = x W_Q, k = y W_K with entries of variance 1 / d_model in W_Q and W_K. A random gradient, a standard normal
number for each weight, comes down at the attention weights and is taken back to W_Q and W_K. In the rows,
`variant` is the remedy (`attention_scaling.remedies`).

Slopes are those of straight lines through log quantity over log d_k. For the typical size of a score they are
known: E[s^2] = d_k c(d_k)^2 for c(d_k) q.k, 1 / d_k for a cosine, and E[tanh^2] at every width for additive
scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from pydantic import Field, PositiveInt

from attention_scaling.attention import score_gradient, softmax
from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.experiments.fields import KeyCounts, SampleSize, Widths
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.experiments.slopes import slopes
from attention_scaling.experiments.variants import Variants
from attention_scaling.measurement import Measurement
from attention_scaling.remedies import BASE_WIDTH, NAMES, remedy
from attention_scaling.validation import StrictModel

NAME = "remedies"

SLOPED = ("score_size", "top_weight", "capacity", "gradient_norm_query", "gradient_norm_key")

QUANTITIES = {
    "score_square_mean": "mean of the squared score",
    "score_size": "typical size of the score, the root of its mean square",
    "top_weight": "mean of a row's largest weight",
    "capacity": "mean trace of the softmax Jacobian, 1 - sum a^2",
    "gradient_norm_query": "mean Frobenius norm of the gradient at W_Q",
    "gradient_norm_key": "mean Frobenius norm of the gradient at W_K",
    **{f"{quantity}_slope": f"slope of {quantity} over d_k in log-log axes" for quantity in SLOPED},
}

SIZE_SLOPES = {
    "none": 0.5,
    "root": 0.0,
    "width": -0.5,
    "qk_norm": -0.5,
    "qk_rms": 0.0,
    "folded": 0.0,
    "additive": 0.0,
}
"""The exponent of d_k in the typical size of a score; for softcap it is 0 in the limit of wide heads alone."""


class Settings(StrictModel):
    """Settings of the remedies experiment."""

    variants: Variants = list(NAMES)
    widths: Widths
    key_counts: KeyCounts
    queries: Annotated[PositiveInt, Field(description="Queries a head has.")] = 8
    d_model: Annotated[PositiveInt, Field(description="Width of the inputs of the head.")] = 64
    base_width: Annotated[
        PositiveInt, Field(description="Width at which the remedy `width` equals `root`.")
    ] = BASE_WIDTH
    samples: Annotated[
        SampleSize,
        Field(
            description="Heads at the largest width; a width n times smaller gets sqrt(n) times as many."
        ),
    ]


def exact(settings: Settings) -> Iterator[Measurement]:
    """The exact slopes of the typical size, and its closed form where the score is a multiple of q.k."""
    for n_keys in settings.key_counts:
        for variant in settings.variants:
            row = Measurement(
                experiment=NAME,
                quantity="score_size",
                method="closed_form",
                n_keys=n_keys,
                variant=variant,
                stderr=0.0,
            )
            if variant in SIZE_SLOPES:
                yield replace(row, quantity="score_size_slope", value=SIZE_SLOPES[variant])
            if variant in ("none", "root", "width", "folded"):
                factor = math.sqrt(settings.base_width) if variant == "width" else 1.0
                for d_k in settings.widths:
                    value = factor * d_k ** SIZE_SLOPES[variant]
                    yield replace(row, d_k=d_k, value=value)


def cells(settings: Settings) -> list[Cell]:
    """One cell for each width and number of keys; a row is a whole head with its inputs.

    Narrow heads are cheap and, with few terms in a score, vary more: they get more samples.
    """
    widest = max(settings.widths)
    return [
        Cell(
            method="direct",
            samples=math.ceil(settings.samples * math.sqrt(widest / d_k)),
            # The hidden layer of the additive scores has d_k numbers a pair.
            numbers_per_row=(2 * settings.d_model + settings.queries * n_keys) * d_k,
            d_k=d_k,
            n_keys=n_keys,
        )
        for n_keys in settings.key_counts
        for d_k in settings.widths
    ]


def sample(
    settings: Settings, cell: Cell, backend: Backend, draws: Draws, rows: int
) -> dict[Statistic, Array]:
    """The quantities of `rows` heads, each under every remedy."""
    xp = backend.xp
    query_inputs = draws.normal((rows, settings.queries, settings.d_model))
    key_inputs = draws.normal((rows, cell.n_keys, settings.d_model))
    unit_queries, keys = (
        inputs @ draws.normal((rows, settings.d_model, cell.d_k)) / math.sqrt(settings.d_model)
        for inputs in (query_inputs, key_inputs)
    )
    upstream = draws.normal((rows, settings.queries, cell.n_keys))
    found = {}
    for variant in settings.variants:
        chosen = remedy(variant, base_width=settings.base_width)
        parameters = chosen.parameters(backend, draws, (rows,), d_k=cell.d_k, n_keys=cell.n_keys)
        queries = unit_queries * chosen.query_factor(cell.d_k)
        scores = chosen.scores(queries, keys, parameters)
        weights = softmax(scores)
        d_queries, d_keys = chosen.pullback(
            queries, keys, parameters, score_gradient(weights, upstream)
        )
        values = {
            "score_square_mean": xp.mean(scores * scores, axis=(1, 2)),
            "top_weight": xp.mean(xp.max(weights, axis=-1), axis=-1),
            "capacity": 1 - xp.mean(xp.sum(weights * weights, axis=-1), axis=-1),
            "gradient_norm_query": _norm(xp, query_inputs.mT @ d_queries),
            "gradient_norm_key": _norm(xp, key_inputs.mT @ d_keys),
        }
        for quantity, value in values.items():
            found[Statistic(quantity, variant=variant)] = value
    return found


def _norm(xp: object, matrices: Array) -> Array:
    return xp.sqrt(xp.sum(matrices * matrices, axis=(1, 2)))


def derive(settings: Settings, measurements: list[Measurement]) -> list[Measurement]:
    """The typical size from the mean square, and every quantity's slope over the widths."""
    sampled = [row for row in measurements if row.method == "direct"]
    sizes = [_size(row) for row in sampled if row.quantity == "score_square_mean"]
    return sizes + [
        replace(slope, method="derived") for slope in slopes([*sampled, *sizes], SLOPED)
    ]


def _size(square: Measurement) -> Measurement:
    """The root of a mean square; its standard error by the delta method, d sqrt(x) = dx / (2 sqrt(x))."""
    size = math.sqrt(square.value)
    stderr = None if square.stderr is None else square.stderr / (2 * size)
    return replace(square, quantity="score_size", value=size, stderr=stderr)
