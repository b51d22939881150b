"""A row of six scores that a lesson shows as a figure and does not print, found again from its weights.

The lesson takes one row of six scores of typical size sqrt(d_k) at three widths, divides it by 1, sqrt(d_k) and
d_k, and prints the largest weight of each softmax with two decimals: nine numbers, seven of them different. So
the row, divided by its size, has root-mean-square 1 and its softmax at seven factors (8, 4, 2, 1, 1/2, 1/4 and
1/8) is known in its largest weight. The search draws rows uniformly from the sphere of that size and keeps those
that give all nine numbers. Many rows do: the order of the entries is free, and `entry_low` to `entry_high` is how
far each entry, in descending order, ranges over the rows that were kept. The row used here is the kept one that
is nearest to their mean, with four decimals: a reconstruction, not the lesson's own row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from attention_scaling.attention import softmax
from attention_scaling.backends import Backend
from attention_scaling.divisors import DIVISORS, divisor_value
from attention_scaling.experiments.fields import SampleSize
from attention_scaling.measurement import Measurement
from attention_scaling.validation import StrictModel

NAME = "reconstruction"

QUANTITIES = {
    "row_score": "a score of the row at size 1; the variant is its position",
    "row_size": "root-mean-square of the row",
    "weight": "weight of a position; the variant is the position",
    "top_weight": "largest weight of the row",
    "share_out_change": "largest change of a weight between two of the widths",
    "kept_rows": "rows of the search that give all printed weights",
    "entry_low": "smallest value over these rows of the entry at a place in descending order",
    "entry_high": "largest value over these rows of the entry at a place in descending order",
}

N_SCORES = 6
PRINTED = {
    (4, "none"): 0.68,
    (16, "none"): 0.92,
    (64, "none"): 0.99,
    (4, "root"): 0.43,
    (16, "root"): 0.43,
    (64, "root"): 0.43,
    (4, "width"): 0.29,
    (16, "width"): 0.23,
    (64, "width"): 0.20,
}
"""The largest weights that the lesson prints, by width and divisor."""

HALF_UNIT = 0.005
WIDTHS = (4, 16, 64)
FAR_WIDTH = 1_000_000
_ROWS_AT_ONCE = 250_000


class Settings(StrictModel):
    """Settings of the reconstruction of the six scores."""

    row: Annotated[
        list[float],
        Field(
            min_length=N_SCORES,
            max_length=N_SCORES,
            description="The reconstructed row, of root-mean-square 1, as the search chose it.",
        ),
    ]
    seed: Annotated[int, Field(ge=0, description="Seed of the search.")] = 1
    draws: Annotated[SampleSize, Field(description="Rows that the search tries.")] = 4_000_000


def exact(settings: Settings) -> Iterator[Measurement]:
    """How much of the row the printed weights pin down."""
    rows = search(settings.seed, settings.draws)
    yield _row("kept_rows", len(rows), method="search", samples=settings.draws)
    if len(rows):
        for place in range(N_SCORES):
            for quantity, value in (
                ("entry_low", rows[:, place].min()),
                ("entry_high", rows[:, place].max()),
            ):
                yield _row(
                    quantity, value, method="search", samples=settings.draws, variant=str(place)
                )


def measure(settings: Settings, backend: Backend) -> Iterator[Measurement]:
    """The row's weights under every divisor at every width."""
    xp = backend.xp
    row = backend.asarray(settings.row)
    labels = {"backend": backend.name, "device": backend.device}
    yield _row("row_size", xp.sqrt(xp.mean(row * row)), **labels)
    for place, score in enumerate(settings.row):
        yield _row("row_score", score, variant=str(place), **labels)
    for divisor in DIVISORS:
        by_width = []
        for d_k in WIDTHS:
            weights = softmax(row * math.sqrt(d_k) / divisor_value(divisor, d_k))
            by_width.append(backend.to_numpy(weights))
            cell = labels | {"d_k": d_k, "divisor": divisor}
            yield _row("top_weight", by_width[-1].max(), **cell)
            for place, weight in enumerate(by_width[-1]):
                yield _row("weight", weight, variant=str(place), **cell)
        change = np.ptp(np.stack(by_width), axis=0).max()
        yield _row("share_out_change", change, divisor=divisor, **labels)
    even = softmax(row * math.sqrt(FAR_WIDTH) / divisor_value("width", FAR_WIDTH))
    top = backend.to_numpy(even).max()
    yield _row("top_weight", top, d_k=FAR_WIDTH, divisor="width", theory=1 / N_SCORES, **labels)


def search(seed: int, draws: int) -> NDArray[np.float64]:
    """Rows of root-mean-square 1, each in descending order, that give all of `PRINTED`; shape (rows, 6)."""
    rng = np.random.default_rng(seed)
    targets = {
        math.sqrt(d_k) / divisor_value(divisor, d_k): weight
        for (d_k, divisor), weight in PRINTED.items()
    }
    kept = []
    for start in range(0, draws, _ROWS_AT_ONCE):
        rows = rng.normal(size=(min(_ROWS_AT_ONCE, draws - start), N_SCORES))
        rows *= math.sqrt(N_SCORES) / np.linalg.norm(rows, axis=1, keepdims=True)
        rows = -np.sort(-rows, axis=1)
        for factor, weight in sorted(targets.items()):
            top = 1 / np.exp(factor * (rows - rows[:, :1])).sum(axis=1)
            rows = rows[np.abs(top - weight) < HALF_UNIT]
        kept.append(rows)
    return np.concatenate(kept)


def choose(rows: NDArray[np.float64]) -> list[float]:
    """The row nearest to the mean of all, with four decimals."""
    distances = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
    return [round(float(entry), 4) for entry in rows[distances.argmin()]]


def _row(quantity: str, value: Any, method: str = "arithmetic", **labels: Any) -> Measurement:
    return Measurement(
        experiment=NAME,
        quantity=quantity,
        method=method,
        n_keys=N_SCORES,
        value=float(value),
        stderr=0.0,
        **labels,
    )
