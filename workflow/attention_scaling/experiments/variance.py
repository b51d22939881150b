"""How far a score q.k lands from zero, over widths, divisors and laws of the entries.

For independent entries of mean 0 and variance 1, E[q.k] = 0 and Var(q.k) = d_k (Vaswani et al. 2017, section
3.2.1, footnote 4), so the typical size sqrt(E[(q.k)^2]) is sqrt(d_k): a slope of 1/2 in log-log axes, 0 after
the root, -1/2 after the width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PositiveInt

from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.divisors import DIVISORS, divisor_value
from attention_scaling.experiments.fields import SampleSize, Widths, unique
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.fitting import power_law
from attention_scaling.measurement import Measurement
from attention_scaling.sampling.entries import LAWS
from attention_scaling.theory.moments import score_moments
from attention_scaling.theory.signs import LARGEST_ENUMERATED, enumerate_signs
from attention_scaling.validation import StrictModel

NAME = "variance"

QUANTITIES = {
    "score_mean": "mean of the score q.k",
    "score_square_mean": "mean of the squared score",
    "score_size": "typical size of the score, the root of its mean square",
    "score_std": "standard deviation of the score",
    "size_slope": "slope of the typical size over d_k in log-log axes",
    "score_fourth_mean": "mean of the fourth power of the score",
    "cross_term_max": "largest |E[s_m s_n]| over pairs m != n of the score's terms",
}


SLOPES = {"none": 0.5, "root": 0.0, "width": -0.5}
"""The exponent of d_k in the typical size of a score, by divisor."""


class Settings(StrictModel):
    """Settings of the variance experiment."""

    widths: Widths
    distributions: Annotated[
        list[Literal[tuple(LAWS)]], Field(min_length=1), AfterValidator(unique)
    ] = list(LAWS)
    samples: SampleSize
    enumerated_widths: Annotated[
        list[Annotated[PositiveInt, Field(le=LARGEST_ENUMERATED)]],
        Field(description="Widths whose 2^d_k sign rows are walked through one by one."),
        AfterValidator(unique),
    ] = []


def exact(settings: Settings) -> Iterator[Measurement]:
    """Closed forms for every width, law and divisor, and the sign rows walked through for small widths."""
    for distribution in settings.distributions:
        for divisor in DIVISORS:
            yield _exact("size_slope", SLOPES[divisor], divisor=divisor, distribution=distribution)
            for d_k in settings.widths:
                fourth = LAWS[distribution].fourth_moment
                moments = score_moments(d_k, divisor, fourth_q=fourth, fourth_k=fourth)
                values = {
                    "score_mean": moments.mean,
                    "score_square_mean": moments.square_mean,
                    "score_size": moments.size,
                    "score_std": moments.size,
                }
                for quantity, value in values.items():
                    yield _exact(
                        quantity, value, d_k=d_k, divisor=divisor, distribution=distribution
                    )
    for d_k in settings.enumerated_widths:
        rows = enumerate_signs(d_k)
        values = {
            "score_mean": rows.mean,
            "score_square_mean": rows.square_mean,
            "score_fourth_mean": rows.fourth_mean,
            "cross_term_max": rows.cross_term_max,
        }
        for quantity, value in values.items():
            yield _exact(
                quantity,
                float(value),
                method="enumeration",
                d_k=d_k,
                divisor="none",
                distribution="signs",
                samples=rows.rows,
            )


def _exact(quantity: str, value: float, method: str = "closed_form", **labels: Any) -> Measurement:
    return Measurement(
        experiment=NAME, quantity=quantity, method=method, value=value, stderr=0.0, **labels
    )


def cells(settings: Settings) -> list[Cell]:
    """One cell for each law of the entries and each width."""
    return [
        Cell(
            method="direct",
            samples=settings.samples,
            numbers_per_row=2 * d_k,
            d_k=d_k,
            distribution=distribution,
        )
        for distribution in settings.distributions
        for d_k in settings.widths
    ]


def sample(
    settings: Settings, cell: Cell, backend: Backend, draws: Draws, rows: int
) -> dict[Statistic, Array]:
    """The score of `rows` fresh pairs of query and key, and its powers, under each divisor."""
    law = LAWS[cell.distribution]
    query = law.draw(backend, draws, (rows, cell.d_k))
    query *= law.draw(backend, draws, (rows, cell.d_k))
    raw = backend.xp.sum(query, axis=1)
    found = {}
    for divisor in DIVISORS:
        scores = raw / divisor_value(divisor, cell.d_k)
        found[Statistic("score_mean", divisor)] = scores
        found[Statistic("score_square_mean", divisor)] = scores * scores
    return found


def derive(settings: Settings, measurements: list[Measurement]) -> list[Measurement]:
    """Typical size and standard deviation from the moments, and the size's slope over the widths."""
    by_cell: dict[tuple, dict[str, Measurement]] = {}
    for row in measurements:
        if row.method == "direct" and row.value is not None:
            key = (row.backend, row.device, row.dtype, row.distribution, row.divisor, row.d_k)
            by_cell.setdefault(key, {})[row.quantity] = row
    derived: list[Measurement] = []
    sizes: dict[tuple, list[Measurement]] = {}
    for key, row in by_cell.items():
        size = _root(row["score_square_mean"], "score_size", row["score_square_mean"].value)
        variance = max(0.0, row["score_square_mean"].value - row["score_mean"].value ** 2)
        derived += [size, _root(row["score_square_mean"], "score_std", variance)]
        if size.stderr:  # a size that every sample has, as signs of width 1 do, weighs on no fit
            sizes.setdefault(key[:-1], []).append(size)
    for rows in sizes.values():
        if len(rows) > 2:
            slope = power_law(
                [row.d_k for row in rows],
                [row.value for row in rows],
                [row.stderr for row in rows],
            )
            derived.append(
                replace(
                    rows[0],
                    quantity="size_slope",
                    method="derived",
                    d_k=None,
                    value=slope.exponent,
                    stderr=slope.stderr,
                )
            )
    return derived


def _root(square: Measurement, quantity: str, value: float) -> Measurement:
    """The root of a mean square; its standard error by the delta method, d sqrt(x) = dx / (2 sqrt(x))."""
    root = math.sqrt(value)
    # A root of 0 comes of a few scores that are all 0: it has no derivative there, and says nothing of its error.
    stderr = None if square.stderr is None or not root else square.stderr / (2 * root)
    return replace(square, quantity=quantity, value=root, stderr=stderr)
