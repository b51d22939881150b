"""What a key that is aligned with its query does to the scores, over correlation, width and divisor.

Key 0 is k = rho q + sqrt(1 - rho^2) z, the others are independent of q. The score of key 0 then has mean
rho d_k, which grows like the width, not like its root: over the root it is rho sqrt(d_k), over the width rho.
That is the argument of the Maximal Update Parametrization for dividing by d_k (Yang et al. 2022, "Tensor
Programs V", section 2 and appendix B).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

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
from attention_scaling.sampling.scores import numbers_per_row, one_aligned_key
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


class Settings(StrictModel):
    """Settings of the correlated-key experiment."""

    correlations: Correlations
    widths: Widths
    key_counts: KeyCounts
    divisors: Divisors = list(DIVISORS)
    samples: SampleSize


def exact(settings: Settings) -> Iterator[Measurement]:
    """Closed forms of the aligned score's mean and variance; the row's means by quadrature."""
    for rho in settings.correlations:
        for d_k in settings.widths:
            for n_keys in settings.key_counts:
                for divisor in settings.divisors:
                    yield from _exact_cell(rho=rho, d_k=d_k, n_keys=n_keys, divisor=divisor)


def _exact_cell(*, rho: float, d_k: int, n_keys: int, divisor: str) -> Iterator[Measurement]:
    def row(quantity: str, method: str, value: float) -> Measurement:
        return Measurement(
            experiment=NAME,
            quantity=quantity,
            method=method,
            rho=rho,
            d_k=d_k,
            n_keys=n_keys,
            divisor=divisor,
            value=value,
            stderr=0.0,
        )

    moments = correlated_score_moments(d_k, rho, divisor)
    yield row("score_mean", "closed_form", moments.mean)
    yield row("score_variance", "closed_form", moments.variance)
    # Quadrature reaches neither a key that equals its query nor the widest undivided scores.
    if abs(rho) <= LARGEST_RHO and math.sqrt(d_k) / divisor_value(divisor, d_k) <= LARGEST_STD:
        for quantity in ROW_QUANTITIES:
            value = softmax_mean(quantity, n_keys=n_keys, d_k=d_k, divisor=divisor, rho=rho).value
            yield row(quantity, "quadrature", value)


def cells(settings: Settings) -> list[Cell]:
    """One cell for each correlation, width and number of keys."""
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
    """The aligned score, its squared distance from its exact mean, and what the softmax makes of the row."""
    raw = one_aligned_key(
        backend,
        draws,
        cell.method,
        d_k=cell.d_k,
        n_keys=cell.n_keys,
        rows=rows,
        rho=cell.rho,
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
