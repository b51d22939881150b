"""Power laws fitted to measured values: a straight line in log-log axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PowerLaw:
    """y = factor * x^exponent, with the standard error of the exponent."""

    exponent: float
    stderr: float
    factor: float


def power_law(
    x: Sequence[float], y: Sequence[float], stderr: Sequence[float] | None = None
) -> PowerLaw:
    """The least-squares line through (log x, log y).

    With the standard errors of y (all above zero), points weigh by the inverse of their variance and the
    exponent's error follows from them; without, it follows from the scatter about the line, which needs at
    least three points. All x and y must be positive.
    """
    log_x, log_y = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    known = stderr is not None
    weight = (
        (np.asarray(y, float) / np.asarray(stderr, float)) ** 2 if known else np.ones_like(log_y)
    )
    centre = np.average(log_x, weights=weight)
    spread = np.sum(weight * (log_x - centre) ** 2)
    exponent = np.sum(weight * (log_x - centre) * log_y) / spread
    intercept = np.average(log_y, weights=weight) - exponent * centre
    variance = 1 / spread
    if not known:
        residual = log_y - intercept - exponent * log_x
        variance *= np.sum(residual**2) / (len(log_x) - 2) if len(log_x) > 2 else math.nan
    return PowerLaw(float(exponent), math.sqrt(variance), math.exp(intercept))
