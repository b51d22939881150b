"""Moments of scores against exhaustive laws, quadrature and cumulants by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_scaling.divisors import divisor_value
from attention_scaling.errors import UserError
from attention_scaling.theory.moments import (
    correlated_score_moments,
    correlated_score_variance,
    score_moments,
)
from attention_scaling.theory.signs import binomial_signs

# Three-point laws with mean 0 and variance 1: value v with probability 1 / (2 v^2) on either side, else 0.
# Their fourth moment is v^2.
spreads = st.floats(1.0, 3.0)


def three_points(spread):
    half = 0.5 / spread**2
    return [(-spread, half), (0.0, 1 - 2 * half), (spread, half)]


def law_of_score(terms, d_k):
    """All (value, probability) of a sum of d_k independent copies of a discrete law."""
    for combination in itertools.product(terms, repeat=d_k):
        values, probabilities = zip(*combination, strict=True)
        yield sum(values), np.prod(probabilities)


@given(
    spreads,
    spreads,
    st.floats(0.2, 3),
    st.floats(0.2, 3),
    st.sampled_from(["none", "root", "width"]),
)
def test_independent_moments_equal_the_full_law(spread_q, spread_k, sigma_q, sigma_k, divisor):
    d_k = 2
    scale = sigma_q * sigma_k / divisor_value(divisor, d_k)
    terms = [
        (scale * q * k, p * r)
        for (q, p) in three_points(spread_q)
        for (k, r) in three_points(spread_k)
    ]
    values, probabilities = np.array(list(law_of_score(terms, d_k))).T
    moments = score_moments(
        d_k,
        divisor,
        sigma_q=sigma_q,
        sigma_k=sigma_k,
        fourth_q=spread_q**2,
        fourth_k=spread_k**2,
    )
    assert probabilities @ values == pytest.approx(moments.mean, abs=1e-12)
    assert probabilities @ values**2 == pytest.approx(moments.variance)
    assert probabilities @ values**4 == pytest.approx(moments.fourth_mean)
    assert probabilities @ values**4 - (probabilities @ values**2) ** 2 == pytest.approx(
        moments.square_variance, abs=1e-9
    )


@pytest.mark.parametrize("d_k", [1, 7, 1000])
def test_signs_are_the_case_of_fourth_moment_one(d_k):
    moments = score_moments(d_k, fourth_q=1, fourth_k=1)
    exact = binomial_signs(d_k)
    assert moments.fourth_mean == pytest.approx(float(exact.fourth_mean))
    assert moments.size == pytest.approx(np.sqrt(float(exact.square_mean)))


@given(spreads, st.floats(-1, 1))
def test_correlated_variance_equals_the_full_law(spread, rho):
    law = three_points(spread)
    terms = [(q * (rho * q + np.sqrt(1 - rho**2) * z), p * r) for (q, p) in law for (z, r) in law]
    values, probabilities = np.array(list(law_of_score(terms, 2))).T
    mean = probabilities @ values
    assert mean == pytest.approx(2 * rho, abs=1e-12)
    variance = correlated_score_variance(2, rho, fourth=spread**2)
    assert probabilities @ (values - mean) ** 2 == pytest.approx(variance, abs=1e-12)


@given(st.integers(1, 3), st.floats(-1, 1))
def test_correlated_gaussian_moments_equal_gauss_hermite(d_k, rho):
    # Polynomials of degree 8 in the entries: eight nodes a dimension are exact. Given q the score is
    # rho r + sqrt(1 - rho^2) sqrt(r) z with r = |q|^2.
    x, w = np.polynomial.hermite_e.hermegauss(8)
    w = w / w.sum()
    grids = np.meshgrid(*[x] * (d_k + 1), indexing="ij")
    weights = np.prod(np.meshgrid(*[w] * (d_k + 1), indexing="ij"), axis=0)
    r = sum(grid**2 for grid in grids[:-1])
    score = rho * r + np.sqrt((1 - rho**2) * r) * grids[-1]
    moments = correlated_score_moments(d_k, rho)
    assert np.sum(weights * score) == pytest.approx(moments.mean, abs=1e-10)
    assert np.sum(weights * score**2) == pytest.approx(moments.square_mean)
    assert np.sum(weights * score**4) == pytest.approx(moments.fourth_mean)
    assert moments.variance == pytest.approx(correlated_score_variance(d_k, rho))


def test_rooted_moments_under_correlation():
    moments = correlated_score_moments(64, 0.5, "root")
    assert moments.mean == pytest.approx(0.5 * 8)
    assert moments.variance == pytest.approx(1 + 0.5**2)


def test_no_correlation_is_the_independent_case():
    independent, correlated = score_moments(64, "root"), correlated_score_moments(64, 0.0, "root")
    assert correlated.mean == 0
    assert correlated.variance == pytest.approx(independent.variance)
    assert correlated.fourth_mean == pytest.approx(independent.fourth_mean)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: correlated_score_variance(4, 1.5), "rho = 1.5"),
        (lambda: correlated_score_moments(4, -2), "rho = -2"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(UserError, match=message):
        call()
