"""Power laws are found, with an error that covers the truth as often as it should."""

import numpy as np
import pytest

from attention_scaling.fitting import power_law


@pytest.mark.parametrize("exponent", [-0.5, 0.0, 0.5, 2.0])
def test_an_exact_power_law_is_found(exponent):
    x = np.array([4, 16, 64, 256])
    law = power_law(x, 3 * x**exponent)
    np.testing.assert_allclose((law.exponent, law.factor), (exponent, 3), atol=1e-12)
    assert law.stderr < 1e-12


def test_the_stated_error_is_the_spread_over_repetitions():
    generator = np.random.default_rng(3)
    x = np.array([4.0, 8, 16, 32, 64])
    errors = 0.02 * x**0.5
    fits = [power_law(x, x**0.5 + generator.normal(size=5) * errors, errors) for _ in range(2000)]
    deviations = [(fit.exponent - 0.5) / fit.stderr for fit in fits]
    assert abs(np.mean(deviations)) < 5 / 2000**0.5
    assert abs(np.std(deviations) - 1) < 5 / (2 * 2000) ** 0.5
