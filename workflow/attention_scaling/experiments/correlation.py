"""What a key that is aligned with its query does to the scores, over correlation, width and divisor.

Key 0 (or every key) is k = rho q + sqrt(1 - rho^2) z, the others are independent of q. The score of key 0
then has mean rho d_k, which grows like the width, not like its root: over the root it is rho sqrt(d_k), over
the width rho. That is the argument of the Maximal Update Parametrization for dividing by d_k (Yang et al. 2022,
"Tensor Programs V", section 2 and appendix B).

Entries are Gaussian, but for the rows with `cell` "entry laws": there q and z have entries of the law
`distribution`, and the variance of the score shows its fourth moment. `closing_rho` is the correlation at which
the mean largest weight of a row passes 1/2; a row without a value says whether it is closed before or never.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.divisors import DIVISORS, divisor_value
from attention_scaling.experiments.fields import (
    Correlations,
    Divisors,
    KeyCounts,
    SampleSize,
    Widths,
    unique,
)
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.experiments.slopes import slopes
from attention_scaling.measurement import Measurement
from attention_scaling.sampling import rows as softmax_rows
from attention_scaling.sampling.entries import LAWS
from attention_scaling.sampling.scores import aligned_keys, numbers_per_row
from attention_scaling.theory.closing import closing_rho
from attention_scaling.theory.moments import correlated_score_moments, correlated_score_variance
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
    "closing_rho": "correlation at which the mean of a row's largest weight passes 1/2",
    "closing_rho_slope": "slope of closing_rho over d_k in log-log axes",
    "entry_fourth_moment": "fourth moment of a single entry, of variance 1",
}

ENTRY_LAWS = "entry laws"
"""The table's name for the cells whose entries are not all Gaussian."""

LIGHT_TAILED = tuple(name for name in LAWS if name != "student_t")
"""The laws with an eighth moment: without one, a sample of the aligned score's variance has no standard error."""

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
        AfterValidator(unique),
    ] = ["one"]
    samples: SampleSize
    closing_key_counts: Annotated[
        KeyCounts, Field(description="Numbers of keys whose closing correlation is looked for.")
    ] = [8, 32, 128]
    distributions: Annotated[
        list[Literal[LIGHT_TAILED]],
        Field(min_length=1, description="Laws of the entries whose aligned score is measured too."),
        AfterValidator(unique),
    ] = list(LIGHT_TAILED)
    law_widths: Annotated[Widths, Field(description="Widths at which it is.")] = [64]
    law_samples: Annotated[SampleSize, Field(description="Scores drawn for each law.")] = 10_000


def exact(settings: Settings) -> Iterator[Measurement]:
    """Closed forms of the aligned score's mean and variance; means and closing of the rows by quadrature."""
    yield from _closings(settings)
    yield from _laws(settings)
    for rho in settings.correlations:
        for d_k in settings.widths:
            for n_keys in settings.key_counts:
                for divisor in settings.divisors:
                    for aligned in settings.aligned:
                        yield from _exact_cell(
                            aligned, rho=rho, d_k=d_k, n_keys=n_keys, divisor=divisor
                        )


def _closings(settings: Settings) -> Iterator[Measurement]:
    """The closing correlation of each row, or why it has none, and how it depends on the width."""
    row = Measurement(experiment=NAME, quantity="closing_rho", method="quadrature")
    rows = []
    for divisor in settings.divisors:
        for n_keys in settings.closing_key_counts:
            for d_k in settings.widths:
                cell = replace(row, d_k=d_k, n_keys=n_keys, divisor=divisor)
                found = closing_rho(n_keys, d_k, divisor)
                if found.rho is None:
                    rows.append(replace(cell, skipped=found.reason))
                else:
                    rows.append(replace(cell, value=found.rho, stderr=0.0))
    yield from rows
    yield from slopes(rows, ["closing_rho"])


def _laws(settings: Settings) -> Iterator[Measurement]:
    """The fourth moment of each law, and what it makes of the variance of the root-scaled aligned score."""
    for distribution in settings.distributions:
        fourth = LAWS[distribution].fourth_moment
        row = Measurement(
            experiment=NAME,
            quantity="entry_fourth_moment",
            method="closed_form",
            distribution=distribution,
            cell=ENTRY_LAWS,
            value=fourth,
            stderr=0.0,
        )
        yield row
        for rho in settings.correlations:
            for d_k in settings.law_widths:
                yield replace(
                    row,
                    quantity="score_variance",
                    rho=rho,
                    d_k=d_k,
                    divisor="root",
                    value=correlated_score_variance(d_k, rho, "root", fourth=fourth),
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
    """A cell for each correlation, width, number of keys and choice of the aligned keys; one for each law."""
    laws = [
        Cell(
            method="direct",
            samples=settings.law_samples,
            numbers_per_row=2 * d_k,
            d_k=d_k,
            rho=rho,
            distribution=distribution,
            cell=ENTRY_LAWS,
        )
        for distribution in settings.distributions
        for rho in settings.correlations
        for d_k in settings.law_widths
    ]
    return laws + [
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
    if cell.cell == ENTRY_LAWS:
        return _sample_law(cell, backend, draws, rows)
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


def _sample_law(cell: Cell, backend: Backend, draws: Draws, rows: int) -> dict[Statistic, Array]:
    """The squared distance of an aligned score from its mean, query and noise being of the cell's law."""
    law = LAWS[cell.distribution]
    query, noise = (law.draw(backend, draws, (rows, cell.d_k)) for _ in range(2))
    key = cell.rho * query + math.sqrt(1 - cell.rho**2) * noise
    scores = backend.xp.sum(query * key, axis=1) / divisor_value("root", cell.d_k)
    mean = correlated_score_moments(cell.d_k, cell.rho, "root").mean
    return {Statistic("score_variance", "root"): (scores - mean) ** 2}
