"""Mean, variance and fourth moment of a score q.k.

Entries are independent over positions and centred. Footnote 4 in section 3.2.1 of Vaswani et al.,
"Attention is all you need" (2017), has the first case: unit variance, q and k independent, so that q.k has
mean 0 and variance d_k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from attention_scaling.divisors import divisor_value
from attention_scaling.errors import UserError

GAUSSIAN_FOURTH_MOMENT = 3.0


@dataclass(frozen=True)
class ScoreMoments:
    """Moments of a score e: E[e], Var(e), E[e^2] and E[e^4]."""

    mean: float
    variance: float
    square_mean: float
    fourth_mean: float

    @property
    def square_variance(self) -> float:
        """Var(e^2): the mean of n independent squares has standard error sqrt(Var(e^2) / n)."""
        return self.fourth_mean - self.square_mean**2

    @property
    def size(self) -> float:
        """Typical size of the score, sqrt(E[e^2])."""
        return math.sqrt(self.square_mean)


def score_moments(
    d_k: int,
    divisor: str = "none",
    *,
    sigma_q: float = 1.0,
    sigma_k: float = 1.0,
    fourth_q: float = GAUSSIAN_FOURTH_MOMENT,
    fourth_k: float = GAUSSIAN_FOURTH_MOMENT,
) -> ScoreMoments:
    """Moments of q.k over the divisor, for independent q and k.

    Entries of q have mean 0, standard deviation `sigma_q` and `fourth_q` = E[x^4] / sigma_q^4 (1 for signs,
    3 for Gaussian entries, 9/5 uniform, 6 Laplace, inf where there is none); those of k likewise. With
    t_m = q_m k_m the mean of e^4 has d_k terms E[t^4] and 3 d_k (d_k - 1) terms E[t_m^2] E[t_n^2]; all
    others hold a factor E[t] = 0.
    """
    unit = sigma_q * sigma_k / divisor_value(divisor, d_k)
    variance = d_k * unit**2
    fourth = unit**4 * (d_k * fourth_q * fourth_k + 3.0 * d_k * (d_k - 1))
    return ScoreMoments(mean=0.0, variance=variance, square_mean=variance, fourth_mean=fourth)


def correlated_score_variance(
    d_k: int, rho: float, divisor: str = "none", *, fourth: float = GAUSSIAN_FOURTH_MOMENT
) -> float:
    """Variance of q.k over the divisor when k = rho q + sqrt(1 - rho^2) z.

    q and z are independent with unit variance; `fourth` = E[q_m^4]. One term has E[q^2 k^2] =
    rho^2 fourth + (1 - rho^2) and mean rho, so its variance is rho^2 (fourth - 1) + (1 - rho^2): 1 + rho^2
    for Gaussian entries, 1 - rho^2 for signs.
    """
    _check_rho(rho)
    return d_k * (rho**2 * (fourth - 1.0) + (1.0 - rho**2)) / divisor_value(divisor, d_k) ** 2


def correlated_score_moments(d_k: int, rho: float, divisor: str = "none") -> ScoreMoments:
    """Moments of q.k over the divisor when k = rho q + sqrt(1 - rho^2) z, all Gaussian.

    The product of two standard normals with correlation rho has cumulants
    (r - 1)! / 2 [(1 + rho)^r + (-1)^r (1 - rho)^r] (Craig, "On the frequency function of xy", Annals of
    Mathematical Statistics 7, 1936); d_k of them add up. The mean is rho d_k, the variance d_k (1 + rho^2).
    """
    _check_rho(rho)
    scale = divisor_value(divisor, d_k)
    cumulants = [
        d_k * math.factorial(r - 1) / 2.0 * ((1 + rho) ** r + (-1) ** r * (1 - rho) ** r) / scale**r
        for r in (1, 2, 3, 4)
    ]
    mean, variance, third, fourth = cumulants
    return ScoreMoments(
        mean=mean,
        variance=variance,
        square_mean=variance + mean**2,
        fourth_mean=fourth
        + 4.0 * mean * third
        + 3.0 * variance**2
        + 6.0 * mean**2 * variance
        + mean**4,
    )


def _check_rho(rho: float) -> None:
    if not -1.0 <= rho <= 1.0:
        raise UserError(f"rho = {rho}: correlation of query and key: -1 to 1")
