"""The law of the cosine against numerical integration and against vectors drawn at random."""

import numpy as np
import pytest
from scipy.integrate import quad

from attention_scaling.errors import UserError
from attention_scaling.theory.cosine import (
    cosine_cdf,
    cosine_density,
    cosine_mean,
    cosine_square_mean,
    cosine_std,
)


def integrate(function, d_k, rho):
    """Mean of a function of the cosine; in the angle the density has no poles at the ends."""

    def integrand(angle):
        c = np.cos(angle)
        return float(cosine_density(c, d_k, rho)) * np.sin(angle) * function(c)

    peak = np.arccos(rho)
    return sum(
        quad(integrand, *ends, epsabs=1e-12, epsrel=1e-12, limit=200)[0]
        for ends in [(1e-9, peak), (peak, np.pi - 1e-9)]
    )


@pytest.mark.parametrize("rho", [0.0, 0.3, -0.7, 0.95])
@pytest.mark.parametrize("d_k", [2, 3, 16, 64])
def test_density_gives_the_closed_moments(d_k, rho):
    assert integrate(lambda c: 1.0, d_k, rho) == pytest.approx(1.0, abs=1e-8)
    assert integrate(lambda c: c, d_k, rho) == pytest.approx(cosine_mean(d_k, rho), abs=1e-8)
    assert integrate(lambda c: c**2, d_k, rho) == pytest.approx(
        cosine_square_mean(d_k, rho), abs=1e-8
    )


@pytest.mark.parametrize(("d_k", "rho"), [(1, 0.6), (5, 0.6), (64, -0.3)])
def test_moments_agree_with_vectors_drawn_at_random(d_k, rho):
    rng = np.random.default_rng(d_k)
    q, z = rng.standard_normal((2, 100_000, d_k))
    k = rho * q + np.sqrt(1 - rho**2) * z
    c = np.sum(q * k, axis=1) / np.sqrt(np.sum(q**2, axis=1) * np.sum(k**2, axis=1))
    for sample, exact in [(c, cosine_mean(d_k, rho)), (c**2, cosine_square_mean(d_k, rho))]:
        assert abs(sample.mean() - exact) <= 4 * sample.std() / np.sqrt(sample.size) + 1e-12


@pytest.mark.parametrize("d_k", [2, 5, 64])
def test_distribution_integrates_the_density(d_k):
    for c in (-0.9, -0.1, 0.4):
        area = quad(
            lambda a: float(cosine_density(np.cos(a), d_k)) * np.sin(a), np.arccos(c), np.pi
        )
        assert cosine_cdf(c, d_k) == pytest.approx(area[0], abs=1e-8)


def test_independent_vectors_have_std_one_over_root():
    for d_k in (1, 3, 64, 4096):
        assert cosine_std(d_k) == pytest.approx(np.sqrt(cosine_square_mean(d_k, 0.0)))


def test_limits():
    assert cosine_mean(1, 0.6) == pytest.approx(2 / np.pi * np.arcsin(0.6))  # the sign of q k
    assert cosine_mean(100_000, 0.95) == pytest.approx(0.95, abs=1e-5)
    for d_k in (1, 2, 38, 512):
        assert cosine_mean(d_k, 1.0) == pytest.approx(1.0)
        assert cosine_square_mean(d_k, 1.0) == 1.0
        assert cosine_square_mean(d_k, 1 - 1e-9) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cosine_density(0.1, 1), "from 2"),
        (lambda: cosine_density(0.1, 4, 1.0), "ends excluded"),
        (lambda: cosine_mean(4, 1.1), "rho = 1.1"),
        (lambda: cosine_std(0), "d_k = 0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(UserError, match=message):
        call()
