"""What a key that is aligned with its query does to the scores, over correlation, width and divisor.

Key 0 (or every key) is k = rho q + sqrt(1 - rho^2) z, the others are independent of q. The score of key 0
then has mean rho d_k, which grows like the width, not like its root: over the root it is rho sqrt(d_k), over
the width rho. That is the argument of the Maximal Update Parametrization for dividing by d_k (Yang et al. 2022,
"Tensor Programs V", section 2 and appendix B).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.divisors import DIVISORS, divisor_value
from attention_scaling.experiments.fields import (
    Correlations,
    Divisors,
    KeyCounts,
    SampleSize,
    Widths,
)
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.measurement import Measurement
from attention_scaling.sampling import rows as softmax_rows
from attention_scaling.sampling.scores import aligned_keys, numbers_per_row
from attention_scaling.theory.moments import correlated_score_moments
from attention_scaling.theory.softmax_means import LARGEST_RHO, LARGEST_STD, softmax_mean
from attention_scaling.validation import StrictModel

NAME = "correlation"

ROW_QUANTITIES = {
    "aligned_weight": "mean weight of the key that is aligned with the query",
    "top_weight": "mean of a row's largest weight",
    "capacity": "mean trace of the softmax Jacobian, 1 - sum a^2",
}

QUANTITIES = {
    "score_mean": "mean of the aligned key's score",
    "score_variance": "variance of the aligned key's score",
    **ROW_QUANTITIES,
}

CELL_NAMES = {"one": None, "all": "all keys aligned"}
"""The table's name for a cell by which of its keys are aligned."""


class Settings(StrictModel):
    """Settings of the correlated-key experiment."""

    correlations: Correlations
    widths: Widths
    key_counts: KeyCounts
    divisors: Divisors = list(DIVISORS)
    aligned: Annotated[
        list[Literal["one", "all"]],
        Field(
            min_length=1, description="Whether one key of a row is aligned with its query, or all."
        ),
    ] = ["one"]
    samples: SampleSize


def exact(settings: Settings) -> Iterator[Measurement]:
    """Closed forms of the aligned score's mean and variance; the row's means by quadrature."""
    for rho in settings.correlations:
        for d_k in settings.widths:
            for n_keys in settings.key_counts:
                for divisor in settings.divisors:
                    for aligned in settings.aligned:
                        yield from _exact_cell(
                            aligned, rho=rho, d_k=d_k, n_keys=n_keys, divisor=divisor
                        )


def _exact_cell(
    aligned: str, *, rho: float, d_k: int, n_keys: int, divisor: str
) -> Iterator[Measurement]:
    def row(quantity: str, method: str, value: float) -> Measurement:
        return Measurement(
            experiment=NAME,
            quantity=quantity,
            method=method,
            rho=rho,
            d_k=d_k,
            n_keys=n_keys,
            divisor=divisor,
            cell=CELL_NAMES[aligned],
            value=value,
            stderr=0.0,
        )

    moments = correlated_score_moments(d_k, rho, divisor)
    yield row("score_mean", "closed_form", moments.mean)
    yield row("score_variance", "closed_form", moments.variance)
    # Quadrature knows one aligned key, no key that equals its query, and not the widest undivided scores.
    if aligned == "all":
        return
    if abs(rho) <= LARGEST_RHO and math.sqrt(d_k) / divisor_value(divisor, d_k) <= LARGEST_STD:
        for quantity in ROW_QUANTITIES:
            value = softmax_mean(quantity, n_keys=n_keys, d_k=d_k, divisor=divisor, rho=rho).value
            yield row(quantity, "quadrature", value)


def cells(settings: Settings) -> list[Cell]:
    """One cell for each correlation, width, number of keys, and choice of the aligned keys."""
    return [
        Cell(
            method="collapsed",
            samples=settings.samples,
            numbers_per_row=numbers_per_row("collapsed", d_k=d_k, n_keys=n_keys),
            d_k=d_k,
            n_keys=n_keys,
            rho=rho,
            cell=CELL_NAMES[aligned],
        )
        for aligned in settings.aligned
        for rho in settings.correlations
        for d_k in settings.widths
        for n_keys in settings.key_counts
    ]


def sample(
    settings: Settings, cell: Cell, backend: Backend, draws: Draws, rows: int
) -> dict[Statistic, Array]:
    """The aligned score, its squared distance from its exact mean, and what the softmax makes of the row."""
    raw = aligned_keys(
        backend,
        draws,
        cell.method,
        d_k=cell.d_k,
        n_keys=cell.n_keys,
        rows=rows,
        rho=cell.rho,
        aligned=cell.n_keys if cell.cell == CELL_NAMES["all"] else 1,
    )
    found = {}
    for divisor in settings.divisors:
        scores = raw / divisor_value(divisor, cell.d_k)
        aligned = scores[0, :] + 0.0  # a copy: the statistics overwrite the scores
        mean = correlated_score_moments(cell.d_k, cell.rho, divisor).mean
        found[Statistic("score_mean", divisor)] = aligned
        found[Statistic("score_variance", divisor)] = (aligned - mean) ** 2
        for name, values in softmax_rows.statistics(backend, scores, ROW_QUANTITIES).items():
            found[Statistic(name, divisor)] = values
    return found
