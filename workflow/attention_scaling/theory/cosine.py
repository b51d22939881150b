"""The law of the cosine between a Gaussian query and key of d_k entries.

The cosine of two vectors of pairs with known means is a correlation coefficient with d_k degrees of freedom
(an ordinary one, of n pairs about their sample means, has n - 1), so the classical laws hold with n = d_k + 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, gammaln, hyp2f1, xlog1py

from attention_scaling.errors import UserError

# At x = 1 the terms of the series fall like n^(2 a - c - 1); at these two numbers they are below 1e-24.
_SERIES_FROM = 20.0
_SERIES_TERMS = 400


def cosine_std(d_k: int) -> float:
    """Standard deviation of cos(q, k) for independent q and k: 1 / sqrt(d_k)."""
    _check(d_k, 0.0)
    return 1.0 / math.sqrt(d_k)


def cosine_density(cosine: ArrayLike, d_k: int, rho: float = 0.0) -> NDArray[np.float64]:
    """Density of cos(q, k) on (-1, 1), for d_k >= 2 and -1 < rho < 1.

    Independent vectors: (1 - c^2)^((d_k - 3) / 2) / B(1/2, (d_k - 1) / 2). With k = rho q + sqrt(1 - rho^2) z:
    Fisher (Biometrika 10, 1915) in the form of Hotelling (Journal of the Royal Statistical Society B 15,
    1953, equation 25).
    """
    _check(d_k, rho, least=2)
    if abs(rho) == 1.0:
        raise UserError(f"rho = {rho}: density of the cosine: between -1 and 1, ends excluded")
    c = np.asarray(cosine, dtype=float)
    log_constant = (
        math.log(d_k - 1)
        + gammaln(d_k)
        - gammaln(d_k + 0.5)
        - 0.5 * math.log(2 * math.pi)
        + 0.5 * d_k * math.log1p(-(rho**2))
    )
    log_shape = xlog1py(0.5 * (d_k - 3), -(c**2)) - (d_k - 0.5) * np.log1p(-rho * c)
    return np.exp(log_constant + log_shape) * _hypergeometric(0.5, d_k + 0.5, 0.5 * (1 + rho * c))


def cosine_cdf(cosine: ArrayLike, d_k: int) -> NDArray[np.float64]:
    """P(cos(q, k) <= c) for independent q and k, d_k >= 2: cos^2 is Beta(1/2, (d_k - 1) / 2)."""
    _check(d_k, 0.0, least=2)
    c = np.asarray(cosine, dtype=float)
    return 0.5 + 0.5 * np.sign(c) * betainc(0.5, 0.5 * (d_k - 1), c**2)


def cosine_mean(d_k: int, rho: float) -> float:
    """E[cos(q, k)] when k = rho q + sqrt(1 - rho^2) z: Hotelling 1953, section 5, summed.

    (2 / d_k) [Gamma((d_k + 1) / 2) / Gamma(d_k / 2)]^2 rho F(1/2, 1/2; d_k / 2 + 1; rho^2); tends to rho.
    """
    _check(d_k, rho)
    ratio = math.exp(2.0 * (gammaln(0.5 * (d_k + 1)) - gammaln(0.5 * d_k)))
    return 2.0 / d_k * ratio * rho * float(_hypergeometric(0.5, 0.5 * d_k + 1.0, rho**2))


def cosine_square_mean(d_k: int, rho: float) -> float:
    """E[cos(q, k)^2] = 1 - (1 - rho^2) (1 - 1/d_k) F(1, 1; d_k / 2 + 1; rho^2); 1 / d_k at rho = 0."""
    _check(d_k, rho)
    if abs(rho) == 1.0:
        return 1.0
    series = float(_hypergeometric(1.0, 0.5 * d_k + 1.0, rho**2))
    return 1.0 - (1.0 - rho**2) * (1.0 - 1.0 / d_k) * series


def _hypergeometric(a: float, c: float, x: ArrayLike) -> NDArray[np.float64]:
    """Gauss's F(a, a; c; x) for 0 <= x <= 1.

    SciPy 1.17 gives nan for large whole c - 2 a beyond x = 0.9; there the series itself converges fast.
    """
    if c < _SERIES_FROM:
        return hyp2f1(a, a, c, x)
    n = np.arange(_SERIES_TERMS)
    ratios = (a + n) ** 2 / ((c + n) * (1 + n)) * np.asarray(x, dtype=float)[..., None]
    return 1.0 + np.cumprod(ratios, axis=-1).sum(axis=-1)


def _check(d_k: int, rho: float, least: int = 1) -> None:
    if d_k < least:
        raise UserError(f"d_k = {d_k}: law of the cosine: a whole number from {least}")
    if not -1.0 <= rho <= 1.0:
        raise UserError(f"rho = {rho}: correlation of query and key: -1 to 1")
