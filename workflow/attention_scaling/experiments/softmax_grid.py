"""Rows of independent scores over widths, numbers of keys, divisors and dtypes: the grid of two experiments.

Saturation and gradient capacity look at the same rows with different questions; this module holds the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Annotated

from pydantic import Field, NonNegativeInt

from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.divisors import DIVISORS, divided
from attention_scaling.experiments.fields import (
    Divisors,
    Dtypes,
    KeyCounts,
    SampleSize,
    TargetError,
    Widths,
)
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.measurement import Measurement
from attention_scaling.sampling import rows as softmax_rows
from attention_scaling.sampling.scores import independent_keys, numbers_per_row
from attention_scaling.theory.softmax_means import softmax_mean
from attention_scaling.validation import StrictModel


class GridSettings(StrictModel):
    """The grid of rows: every product of the lists."""

    widths: Widths
    key_counts: KeyCounts
    divisors: Divisors = list(DIVISORS)
    dtypes: Dtypes = ["float64"]
    samples: SampleSize
    stderr: TargetError = None
    direct_samples: Annotated[
        NonNegativeInt,
        Field(description="Rows drawn the long way, query and keys, as a check; 0 for none."),
    ] = 0
    direct_key_counts: Annotated[
        KeyCounts | None, Field(description="Numbers of keys drawn the long way; default: all.")
    ] = None


def cells(settings: GridSettings, target_quantity: str) -> list[Cell]:
    """Collapsed cells for the whole grid, direct ones (in float64) where the settings ask for them."""
    grid = [(d_k, n_keys) for n_keys in settings.key_counts for d_k in settings.widths]
    collapsed = [
        Cell(
            method="collapsed",
            samples=settings.samples,
            numbers_per_row=numbers_per_row("collapsed", d_k=d_k, n_keys=n_keys),
            dtype=dtype,
            d_k=d_k,
            n_keys=n_keys,
            target_stderr=settings.stderr,
            target_quantity=target_quantity,
        )
        for dtype in settings.dtypes
        for d_k, n_keys in grid
    ]
    direct = [
        Cell(
            method="direct",
            samples=settings.direct_samples,
            numbers_per_row=numbers_per_row("direct", d_k=d_k, n_keys=n_keys),
            d_k=d_k,
            n_keys=n_keys,
        )
        for d_k, n_keys in grid
        if settings.direct_samples and n_keys in (settings.direct_key_counts or settings.key_counts)
    ]
    return collapsed + direct


def sample(
    quantities: Collection[str],
    settings: GridSettings,
    cell: Cell,
    backend: Backend,
    draws: Draws,
    rows: int,
) -> dict[Statistic, Array]:
    """The statistics `quantities` of `rows` rows of scores, each row under every divisor."""
    raw = independent_keys(backend, draws, cell.method, d_k=cell.d_k, n_keys=cell.n_keys, rows=rows)
    raw = backend.xp.astype(raw, backend.dtype(cell.dtype), copy=False)
    found = {}
    for divisor in settings.divisors:
        scores = divided(backend, raw, divisor, cell.d_k)
        for name, values in softmax_rows.statistics(backend, scores, quantities).items():
            found[Statistic(name, divisor, unit="nats" if name == "entropy" else "1")] = values
    return found


def exact(
    experiment: str, settings: GridSettings, quantities: Collection[str]
) -> Iterator[Measurement]:
    """The exact means by quadrature, for every cell of the grid."""
    for n_keys in settings.key_counts:
        for d_k in settings.widths:
            for divisor in settings.divisors:
                for quantity in quantities:
                    yield Measurement(
                        experiment=experiment,
                        quantity=quantity,
                        method="quadrature",
                        d_k=d_k,
                        n_keys=n_keys,
                        divisor=divisor,
                        value=softmax_mean(quantity, n_keys=n_keys, d_k=d_k, divisor=divisor).value,
                        stderr=0.0,
                        unit="nats" if quantity == "entropy" else "1",
                    )
