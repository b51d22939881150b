"""Slopes over the widths: how a measured quantity scales with d_k, with its error."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from attention_scaling.measurement import Measurement

FEWEST_WIDTHS = 3
CLEARLY_POSITIVE = 3.0
"""A value has a logarithm to speak of when it lies this many standard errors above 0, and above the rounding of
quantities of size 1."""

ROUNDING = 1e-12


def slopes(rows: Iterable[Measurement], quantities: Collection[str]) -> list[Measurement]:
    """The slope of log quantity over log d_k: one `<quantity>_slope` for rows that differ in d_k alone.

    A least-squares line with equal weights, since errors estimated from few seeds make poor weights; its error
    is what the standard errors of the values propagate to, an exact value's being 0; its samples are the fewest
    that a value has. Where a value is not clearly positive the row says so. Fewer than three widths give no row.
    """
    lines: dict[Measurement, list[Measurement]] = {}
    for row in rows:
        if row.quantity in quantities and row.d_k is not None and row.value is not None:
            line = replace(
                row,
                quantity=f"{row.quantity}_slope",
                d_k=None,
                samples=None,
                value=None,
                stderr=None,
                unit="1",
                theory=None,
                note=None,
            )
            lines.setdefault(line, []).append(row)
    return [_slope(line, points) for line, points in lines.items() if len(points) >= FEWEST_WIDTHS]


def _slope(line: Measurement, points: list[Measurement]) -> Measurement:
    samples = [point.samples for point in points if point.samples is not None]
    line = replace(line, samples=min(samples, default=None))
    log_width = np.log([point.d_k for point in points])
    value = np.array([point.value for point in points])
    stderr = np.array([point.stderr or 0.0 for point in points])
    if np.any(value <= np.maximum(CLEARLY_POSITIVE * stderr, ROUNDING)):
        return replace(line, skipped="not clearly above 0 at every width")
    influence = log_width - log_width.mean()
    influence /= influence @ influence
    return replace(
        line,
        value=float(influence @ np.log(value)),
        stderr=float(np.linalg.norm(influence * stderr / value)),
    )
