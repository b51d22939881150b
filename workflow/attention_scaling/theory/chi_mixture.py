"""Means over a Gaussian query of anything that depends on it through its length.

A query of d_k unit Gaussian entries has |q|^2 chi-squared with d_k degrees of freedom, and the scores given q
have standard deviation |q| / divisor. The mean over it is a trapezoidal sum in the logarithm of that standard
deviation, where the density vanishes double-exponentially to the right and exponentially to the left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from attention_scaling.theory.trapezoid import trapezoid

Array = NDArray[np.float64]

_TOLERANCE = 2e-9  # relative, and of 1e-4 for what is smaller than that
_NEGLIGIBLE = 1e-13  # weight of a node, times how far the function is from its value at 0
_LEFT_OUT = 1e-11  # relative; what all such nodes together may amount to
_REFINEMENTS = 3


def mix_over_query(
    function: Callable[[float], tuple[Array, Array]],
    d_k: int,
    divisor: float,
    at_zero: Array,
    slope: float,
) -> tuple[Array, Array]:
    """Mean of `function`(|q| / divisor) and its absolute error, each of the shape of `at_zero`.

    `function` returns values and their errors at a standard deviation; `at_zero` are its values at 0+, and
    `slope` bounds how fast it leaves them: |function(s) - at_zero| <= slope s, about. Nodes are the numbers
    2^(j / n) with whole j, and n the same for all small widths and doubled to refine, so that cells meet at
    the same ones and a finer sum takes up the nodes of the coarser: let `function` cache.
    """
    # log |q| has standard deviation 1 / sqrt(2 d_k), about; 0.6 of it is a step that shows
    # its error to be below 1e-9. Even n put the lattices of all divisors on top of each other when d_k is a
    # power of 2.
    per_octave = max(4, 2 * int(np.ceil(0.5 * np.log(2.0) * np.sqrt(2.0 * d_k) / 0.6)))
    for _ in range(_REFINEMENTS):
        stds, weights = _nodes(d_k, divisor, per_octave)
        kept = weights * np.minimum(1.0, slope * stds) > _NEGLIGIBLE
        values, errors = (np.array(a) for a in zip(*map(function, stds[kept]), strict=True))
        terms = weights[kept] * (values - at_zero).T
        mean, truncation = trapezoid(terms, 1.0)
        mean = mean + at_zero
        if np.all(truncation <= _TOLERANCE * np.maximum(np.abs(mean), 1e-4)):
            break
        per_octave *= 2
    # The estimate can be too small by a factor of 3.
    return mean, 4.0 * truncation + weights[kept] @ errors + _LEFT_OUT * np.abs(mean)


def _nodes(d_k: int, divisor: float, per_octave: int) -> tuple[Array, Array]:
    """Standard deviations 2^(j / per_octave), and the chi density in their logarithm, summing to 1."""
    # |q|^2 is within exp(+-reach) of d_k: the density has fallen to e^-37 there.
    reach = np.sqrt(160.0 / d_k) + 80.0 / d_k
    centre = 0.5 * np.log2(d_k) - np.log2(divisor)
    half_reach = 0.5 * reach / np.log(2.0)
    first, last = (centre - half_reach) * per_octave, (centre + half_reach) * per_octave
    stds = 2.0 ** (np.arange(np.floor(first), np.ceil(last) + 1) / per_octave)
    delta = 2.0 * np.log(stds * divisor / np.sqrt(d_k))
    weights = np.exp(0.5 * d_k * (delta - np.expm1(delta)))
    return stds, weights / weights.sum()
