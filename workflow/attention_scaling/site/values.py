"""Values of the tables as text, or the word that there are none: what the pages' variables are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from attention_scaling.figures.slices import exact, sampled
from attention_scaling.figures.wording import plain, with_error

EXACT_DIGITS = 4

NOT_MEASURED = "(not measured in this study)"

Variables = dict[str, Any]


def say(compute: Callable[[], str]) -> str:
    """What `compute` says, or that there was nothing to say it of."""
    try:
        return compute()
    except (LookupError, ValueError, ZeroDivisionError):
        return NOT_MEASURED


def as_number(value: float, stderr: float | None) -> str:
    """A measured value with its error, an exact one with four digits."""
    return plain(value, EXACT_DIGITS) if stderr is None else with_error(value, stderr)


def as_percent(value: float, stderr: float | None) -> str:
    """The same for a share, as a percentage without its sign."""
    return as_number(100 * value, None if stderr is None else 100 * stderr)


def cell_values(rows: pd.DataFrame, show: Callable[..., str] = as_number) -> Variables:
    """The first backend's value, and the exact one, of rows that are all of one cell."""
    measured, known = sampled(rows), exact(rows)
    if not len(measured):
        measured = rows[~rows.index.isin(known.index)] if len(known) else rows

    def measured_text() -> str:
        row = first_row(measured)
        return show(row["value"], row["stderr"])

    return {
        "measured": say(measured_text),
        "exact": say(lambda: show(float(first_row(known)["value"]), None)),
    }


def first_row(rows: pd.DataFrame) -> pd.Series:
    """The first backend's row; `LookupError` where there is none."""
    if not len(rows):
        raise LookupError("no rows")
    backends = list(zip(rows["backend"], rows["device"], strict=True))
    return rows.iloc[backends.index(min(backends))]


def some(values: pd.Series) -> pd.Series:
    """The values themselves; `LookupError` where there are none."""
    if not len(values):
        raise LookupError("no values")
    return values


def some_items(items: list[str]) -> list[str]:
    """The items themselves; `LookupError` where there are none."""
    if not items:
        raise LookupError("no items")
    return items
