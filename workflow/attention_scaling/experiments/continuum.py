"""Divisors d_k^p between nothing (p = 0), the root (p = 1/2) and the width (p = 1), each in its time.

Before training, keys are independent of the query and scores have a standard deviation of d_k^(1/2 - p): rows
look alike at every width for p = 1/2. After it, one key is k = rho q + sqrt(1 - rho^2) z, whose score has mean
rho d_k^(1 - p): it stays the same at every width for p = 1 alone, the argument of Yang et al. 2022, "Tensor
Programs V", for their 1 / d attention. In the rows, `variant` is the exponent, such as "p=0.50", and `rho` tells
the two times apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field

from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.experiments.fields import Correlations, KeyCounts, SampleSize, Widths
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.experiments.slopes import slopes
from attention_scaling.measurement import Measurement
from attention_scaling.sampling.scores import aligned_keys, numbers_per_row
from attention_scaling.theory.softmax_means import LARGEST_RHO, means_over_queries
from attention_scaling.validation import StrictModel

NAME = "continuum"

ROW_MEANS = ("capacity", "top_weight", "aligned_weight")
SLOPED = ("score_size", "aligned_score_mean", "capacity", "score_gradient", "query_gradient")

QUANTITIES = {
    "score_size": "typical size of the score of a key that is independent of the query",
    "aligned_score_mean": "mean score of the key that is aligned with the query",
    "capacity": "mean trace of the softmax Jacobian, 1 - sum a^2",
    "top_weight": "mean of a row's largest weight",
    "aligned_weight": "mean weight of the key that is aligned with the query",
    "score_gradient": "root-mean-square gradient at the scores for a unit random gradient at the weights: "
    "mean Frobenius norm of the softmax Jacobian",
    "query_gradient": "the same times sqrt(d_k) / divisor: what of it reaches the query",
    **{f"{quantity}_slope": f"slope of {quantity} over d_k in log-log axes" for quantity in SLOPED},
}


def _told_apart(exponents: list[float]) -> list[float]:
    if len(set(map(label, exponents))) != len(exponents):
        raise ValueError("two are the same to two decimals, by which rows are named")
    return exponents


class Settings(StrictModel):
    """Settings of the continuum of divisors."""

    exponents: Annotated[
        list[Annotated[float, Field(ge=0, le=1)]],
        Field(min_length=1, description="Exponents p of the divisor d_k^p, to two decimals."),
        AfterValidator(_told_apart),
    ] = [0.0, 0.25, 0.5, 0.75, 1.0]
    correlations: Correlations = [0.0, 0.5]
    widths: Widths
    key_counts: KeyCounts
    samples: SampleSize


def label(exponent: float) -> str:
    """The variant of rows whose divisor is d_k to this power."""
    return f"p={exponent:.2f}"


def exact(settings: Settings) -> Iterator[Measurement]:
    """Closed forms of the scores, means over the rows by quadrature, and the slopes of both."""
    rows = []
    for rho in settings.correlations:
        for n_keys in settings.key_counts:
            for d_k in settings.widths:
                for exponent in settings.exponents:
                    row = Measurement(
                        experiment=NAME,
                        quantity="score_size",
                        method="closed_form",
                        d_k=d_k,
                        n_keys=n_keys,
                        rho=rho,
                        variant=label(exponent),
                        value=d_k ** (0.5 - exponent),
                        stderr=0.0,
                    )
                    mean = rho * d_k ** (1 - exponent)
                    rows += [row, replace(row, quantity="aligned_score_mean", value=mean)]
                    if abs(rho) <= LARGEST_RHO:
                        rows += [
                            replace(row, quantity=quantity, method="quadrature", value=value)
                            for quantity, value in row_means_at(n_keys, d_k, exponent, rho).items()
                        ]
    yield from rows
    # Where no key is aligned, its mean score is 0 and has no slope.
    yield from slopes((row for row in rows if row.value != 0), SLOPED)


def row_means_at(n_keys: int, d_k: int, exponent: float, rho: float) -> dict[str, float]:
    """The means in ROW_MEANS over rows of `n_keys` keys, key 0 aligned with the query by `rho`."""
    means = means_over_queries(n_keys, d_k, float(d_k) ** exponent, rho, with_derivative=False)
    return {quantity: means[quantity].value for quantity in ROW_MEANS}


def cells(settings: Settings) -> list[Cell]:
    """One cell for each correlation, width and number of keys; every exponent divides the same scores."""
    return [
        Cell(
            method="collapsed",
            samples=settings.samples,
            numbers_per_row=numbers_per_row("collapsed", d_k=d_k, n_keys=n_keys),
            d_k=d_k,
            n_keys=n_keys,
            rho=rho,
        )
        for rho in settings.correlations
        for d_k in settings.widths
        for n_keys in settings.key_counts
    ]


def sample(
    settings: Settings, cell: Cell, backend: Backend, draws: Draws, rows: int
) -> dict[Statistic, Array]:
    """The quantities of each row under every divisor."""
    raw = aligned_keys(
        backend,
        draws,
        cell.method,
        d_k=cell.d_k,
        n_keys=cell.n_keys,
        rows=rows,
        rho=cell.rho,
    )
    xp = backend.xp
    found = {}
    for exponent in settings.exponents:
        divisor = float(cell.d_k) ** exponent
        scores = raw / divisor
        mean_score = scores[0, :] + 0.0  # a copy: the scores become the weights
        scores -= xp.max(scores, axis=0)
        weights = backend.exp_in_place(scores)
        weights /= xp.sum(weights, axis=0)
        squares = weights * weights
        square_sum = xp.sum(squares, axis=0)
        # |diag(a) - a a^T|^2 as a sum of what cannot cancel in closed rows: the diagonal, and off it
        # a_j^2 (sum of the other squares).
        jacobian = xp.sum(squares * ((1 - weights) ** 2 + (square_sum - squares)), axis=0)
        score_gradient = xp.sqrt(jacobian)
        values = {
            "aligned_score_mean": mean_score,
            "capacity": 1 - square_sum,
            "top_weight": xp.max(weights, axis=0),
            "aligned_weight": weights[0, :],
            "score_gradient": score_gradient,
            "query_gradient": score_gradient * (math.sqrt(cell.d_k) / divisor),
        }
        for quantity, value in values.items():
            found[Statistic(quantity, variant=label(exponent))] = value
    return found


def derive(settings: Settings, measurements: list[Measurement]) -> list[Measurement]:
    """The slopes of what was sampled."""
    sampled = [
        row
        for row in measurements
        if row.method == "collapsed" and (row.rho != 0 or row.quantity != "aligned_score_mean")
    ]
    return [replace(slope, method="derived") for slope in slopes(sampled, SLOPED)]
