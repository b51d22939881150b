"""Moments merge to what the whole sample gives."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attention_scaling.moments import Moments, merge

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=0, max_size=50)


def moments_of(numbers):
    if not numbers:
        return Moments()
    values = np.array(numbers)
    return Moments(len(numbers), float(values.mean()), float(((values - values.mean()) ** 2).sum()))


@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_merged_parts_equal_the_whole(parts):
    whole = [number for part in parts for number in part]
    merged = merge(moments_of(part) for part in parts)
    expected = moments_of(whole)
    assert merged.count == expected.count
    scale = max(map(abs, whole), default=0)
    np.testing.assert_allclose(merged.mean, expected.mean, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(merged.m2, expected.m2, rtol=1e-9, atol=1e-9 * scale**2 + 1e-300)


def test_variance_and_standard_error_are_the_textbook_ones():
    values = np.random.default_rng(1).normal(size=200)
    moments = moments_of(list(values))
    np.testing.assert_allclose(moments.variance, values.var(ddof=1), rtol=1e-12)
    np.testing.assert_allclose(moments.stderr, values.std(ddof=1) / np.sqrt(200), rtol=1e-12)


def test_one_number_has_no_standard_error():
    assert np.isnan(Moments(1, 2.0, 0.0).stderr)
