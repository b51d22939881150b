"""Where the naive softmax breaks in each dtype, what the stable one does there, and what rounding alone costs.

exp(s) overflows once s passes the logarithm of the dtype's largest number: 11.09 in float16, 88.7 in bfloat16
and float32. Subtracting the row's largest score first leaves exponents at most 0 and a denominator of at least
1 (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", section 2), and what underflows then
is a weight too small to matter. All arithmetic here is really done in the dtype, not imitated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from attention_scaling.attention import naive_softmax, softmax
from attention_scaling.backends import DTYPES, Array, Backend, Draws, UnavailableError
from attention_scaling.divisors import DIVISORS, divided
from attention_scaling.experiments.fields import Dtypes, KeyCounts, SampleSize, Widths, unique
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.measurement import Measurement
from attention_scaling.sampling import rows as softmax_rows
from attention_scaling.sampling.scores import independent_keys, numbers_per_row
from attention_scaling.theory.overflow import largest_number, overflow_cutoff
from attention_scaling.validation import StrictModel

NAME = "precision"

QUANTITIES = {
    "largest_number": "largest finite number of the dtype",
    "overflow_cutoff": "logarithm of the dtype's largest number",
    "naive_cutoff": "smallest score at which the naive softmax of (score, 0) is no longer finite",
    "cutoff_spacing": "distance between neighbouring scores of the dtype at that place",
    "naive_broken": "1 where the naive softmax of (score, 0) is not finite, else 0",
    "stable_error": "largest error of the stable softmax of (score, 0, ...), against float64",
    "stable_row_sum_error": "distance of its weights' sum from 1",
    "underflow_loss": "exact weight of all keys whose weight the dtype rounds to zero",
    "top_weight_shift": "mean change of a row's largest weight by the dtype's rounding",
    "capacity_shift": "mean change of a row's 1 - sum a^2 by the dtype's rounding",
}

SHIFTED = ("top_weight", "capacity")
FAR_BEYOND = 20.0
"""How many times the cutoff the stable softmax is shown at."""


class Settings(StrictModel):
    """Settings of the precision experiment."""

    dtypes: Dtypes = list(DTYPES)
    scores: Annotated[
        list[Annotated[float, Field(gt=0)]],
        Field(description="Scores at which the naive softmax is tried, beside its cutoff."),
        AfterValidator(unique),
    ] = [12.0]
    widths: Widths
    key_counts: KeyCounts
    samples: SampleSize


def exact(settings: Settings) -> Iterator[Measurement]:
    """Largest numbers and overflow cutoffs from the formats' definitions."""
    for dtype in settings.dtypes:
        for quantity, value in (
            ("largest_number", largest_number(dtype)),
            ("overflow_cutoff", overflow_cutoff(dtype)),
        ):
            yield Measurement(
                experiment=NAME,
                quantity=quantity,
                method="closed_form",
                variant=dtype,
                value=value,
                stderr=0.0,
            )


def measure(settings: Settings, backend: Backend) -> Iterator[Measurement]:
    """The naive softmax's cutoff in each dtype, and both softmaxes there and beyond."""
    for dtype in settings.dtypes:
        row = Measurement(
            experiment=NAME,
            quantity="naive_cutoff",
            method="arithmetic",
            backend=backend.name,
            device=backend.device,
            dtype=dtype,
            variant=dtype,
        )
        try:
            backend.dtype(dtype)
        except UnavailableError as reason:
            yield replace(row, skipped=str(reason))
            continue
        cutoff, spacing = _naive_cutoff(backend, dtype)
        yield replace(row, value=cutoff, stderr=0.0, theory=overflow_cutoff(dtype))
        yield replace(row, quantity="cutoff_spacing", value=spacing, stderr=0.0)
        for score in settings.scores:
            yield replace(
                row,
                quantity="naive_broken",
                cell=f"score={score:g}",
                value=float(_breaks(backend, dtype, score)),
                stderr=0.0,
            )
        yield from _stable_rows(backend, dtype, row, cutoff)


def _breaks(backend: Backend, dtype: str, score: float) -> bool:
    weights = naive_softmax(backend.asarray([score, 0.0], dtype))
    return not bool(backend.xp.all(backend.xp.isfinite(weights)))


def _naive_cutoff(backend: Backend, dtype: str) -> tuple[float, float]:
    """The smallest score that breaks the naive softmax, and its distance from the largest that does not.

    Bisection, until the dtype has no score between the two.
    """

    def rounded(score: float) -> float:
        return float(backend.to_numpy(backend.asarray([score], dtype))[0])

    works, breaks = 1.0, rounded(2 * overflow_cutoff(dtype))
    while (middle := rounded((works + breaks) / 2)) not in (works, breaks):
        if _breaks(backend, dtype, middle):
            breaks = middle
        else:
            works = middle
    return breaks, breaks - works


def _stable_rows(
    backend: Backend, dtype: str, row: Measurement, cutoff: float
) -> Iterator[Measurement]:
    """The stable softmax of one large score among scores down to far below it, all in `dtype`."""
    for cell, top in (("at the cutoff", cutoff), ("far beyond", FAR_BEYOND * cutoff)):
        scores = backend.asarray(np.append(top, top - np.linspace(0.5, cutoff * 1.5, 63)), dtype)
        weights = backend.to_numpy(softmax(scores, accumulate_dtype=backend.dtype(dtype)))
        # The reference sees the scores as the dtype rounded them: the softmax is judged, not its input.
        exact_weights = softmax(backend.to_numpy(scores))
        values = {
            "stable_error": float(np.max(np.abs(weights - exact_weights))),
            "stable_row_sum_error": float(abs(weights.sum() - 1)),
            "underflow_loss": float(exact_weights[weights == 0].sum()),
        }
        for quantity, value in values.items():
            yield replace(row, quantity=quantity, cell=cell, value=value, stderr=0.0)


def cells(settings: Settings) -> list[Cell]:
    """One cell for each dtype but float64, width and number of keys."""
    return [
        Cell(
            method="collapsed",
            samples=settings.samples,
            numbers_per_row=2 * numbers_per_row("collapsed", d_k=d_k, n_keys=n_keys),
            dtype=dtype,
            d_k=d_k,
            n_keys=n_keys,
        )
        for dtype in settings.dtypes
        if dtype != "float64"
        for d_k in settings.widths
        for n_keys in settings.key_counts
    ]


def sample(
    settings: Settings, cell: Cell, backend: Backend, draws: Draws, rows: int
) -> dict[Statistic, Array]:
    """Each row's largest weight and capacity in the dtype, less the same in float64 from the same draws."""
    raw = independent_keys(backend, draws, cell.method, d_k=cell.d_k, n_keys=cell.n_keys, rows=rows)

    def in_dtype(dtype: Any, divisor: str) -> dict[str, Array]:
        scores = divided(backend, backend.xp.astype(raw, dtype), divisor, cell.d_k)
        return softmax_rows.statistics(backend, scores, SHIFTED)

    found = {}
    for divisor in DIVISORS:
        reference = in_dtype(backend.xp.float64, divisor)
        for name, values in in_dtype(backend.dtype(cell.dtype), divisor).items():
            found[Statistic(f"{name}_shift", divisor)] = values - reference[name]
    return found
