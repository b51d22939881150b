"""The correlation at which a row of weights closes: where its mean largest weight passes one half.

Key 0 is rho q + sqrt(1 - rho^2) z, the other keys are independent of q, all Gaussian. Means over rows are those
of `softmax_means`. They are taken here over |q|^2 by Gauss's rule for the chi-squared density, with as few nodes
as a root to five digits needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal
from scipy.optimize import brentq
from scipy.special import logit

from attention_scaling.divisors import divisor_value
from attention_scaling.theory.gaussian_scores import ScoreGroup, row_means
from attention_scaling.theory.softmax_means import LARGEST_RHO

CLOSED = 0.5
"""Mean largest weight above which a row counts as closed here."""

TOLERANCE = 1e-5  # relative


@dataclass(frozen=True)
class Closing:
    """The correlation at which rows close, or None and the reason why there is none."""

    rho: float | None
    reason: str | None = None


def closing_rho(n_keys: int, d_k: int, divisor: str) -> Closing:
    """The rho at which the mean largest weight of `n_keys` keys is 1/2, to 2e-5 and to a relative 1e-4.

    At widths below 16 the few nodes cost another digit. One key has the weight 1 and counts as closed. Raises
    `UserError` for a width or divisor that `divisor_value` refuses.
    """
    at_zero = 1.0 if n_keys == 1 else _largest_weight(n_keys, d_k, divisor, 0.0)
    if at_zero >= CLOSED:
        return Closing(None, f"closed at rho = 0, with a mean largest weight of {at_zero:.3f}")
    guess = _guess(n_keys, d_k, divisor)
    low, high = 0.9 * guess, min(1.05 * guess, LARGEST_RHO)

    def above(rho: float) -> float:
        # Close to a straight line in rho, which saves Brent's method steps.
        return float(logit(_largest_weight(n_keys, d_k, divisor, rho)) - logit(CLOSED))

    while above(high) < 0:
        if high == LARGEST_RHO:
            at_most = _largest_weight(n_keys, d_k, divisor, high)
            return Closing(
                None, f"open at rho = {high}, with a mean largest weight of {at_most:.3f}"
            )
        low, high = high, min(1.3 * high, LARGEST_RHO)
    while above(low) > 0:
        low, high = 0.7 * low, low
    return Closing(float(brentq(above, low, high, xtol=TOLERANCE * guess, rtol=TOLERANCE)))


def _guess(n_keys: int, d_k: int, divisor: str) -> float:
    """Where the aligned key's mean score equals the log-sum-exp of the others, about.

    That is the free energy of the random energy model (Derrida 1981): many others add up where their scores are
    narrow, the largest one prevails where they are wide.
    """
    scale = divisor_value(divisor, d_k)
    std, log_others = math.sqrt(d_k) / scale, math.log(n_keys - 1)
    widest = math.sqrt(2 * log_others)
    others = log_others + std**2 / 2 if std < widest else std * widest
    return min(others * scale / d_k, LARGEST_RHO)


# Brent's method asks again for the ends of its bracket.
@lru_cache(maxsize=64)
def _largest_weight(n_keys: int, d_k: int, divisor: str, rho: float) -> float:
    """Mean largest weight, its error well below the tolerance."""
    scale = divisor_value(divisor, d_k)
    squares, weights = _chi_squared(d_k)
    total = 0.0
    for square, weight in zip(squares, weights, strict=True):
        std = math.sqrt(square) / scale
        aligned = ScoreGroup(1, rho * square / scale, math.sqrt(1 - rho**2) * std)
        (mean,), _ = row_means((aligned, ScoreGroup(n_keys - 1, 0.0, std)), ("top_weight",))
        total += weight * mean
    return float(total)


@lru_cache(maxsize=64)
def _chi_squared(d_k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights of Gauss's rule for chi-squared with d_k degrees of freedom.

    From the recurrence of the Laguerre polynomials (Golub and Welsch 1969, "Calculation of Gauss quadrature
    rules"), which does not overflow for wide heads. Narrow ones, whose density starts like a power, take more.
    """
    nodes, shape = 8 + math.ceil(64 / d_k), d_k / 2 - 1
    order = np.arange(nodes)
    roots, vectors = eigh_tridiagonal(
        2 * order + 1 + shape, np.sqrt(order[1:] * (order[1:] + shape))
    )
    return 2 * roots, vectors[0] ** 2
