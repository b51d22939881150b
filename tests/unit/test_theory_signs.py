"""Exact moments of sign scores against itertools, closed forms and each other."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_scaling.errors import UserError
from attention_scaling.theory.signs import binomial_signs, enumerate_signs


@given(st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=7))
def test_enumeration_equals_a_loop_over_all_rows(key):
    rows = list(itertools.product([-1, 1], repeat=len(key)))
    scores = [sum(s * k for s, k in zip(row, key, strict=True)) for row in rows]
    moments = enumerate_signs(len(key), key)
    assert moments.rows == len(rows)
    assert moments.mean == Fraction(sum(scores), len(rows))
    assert moments.square_mean == Fraction(sum(e**2 for e in scores), len(rows))
    assert moments.fourth_mean == Fraction(sum(e**4 for e in scores), len(rows))
    for m, n in itertools.combinations(range(len(key)), 2):
        assert abs(sum(row[m] * row[n] for row in rows)) <= moments.cross_term_max * len(rows)


@pytest.mark.parametrize("d_k", [1, 2, 8, 15, 16, 20])
def test_enumeration_equals_the_binomial_law(d_k):
    assert enumerate_signs(d_k) == binomial_signs(d_k)


def test_the_key_does_not_matter():
    key = np.random.default_rng(3).choice([-1, 1], 17)
    assert enumerate_signs(17, key) == enumerate_signs(17)


@pytest.mark.parametrize("d_k", [1, 8, 20, 1000, 10_000])
def test_binomial_moments_are_the_closed_forms(d_k):
    moments = binomial_signs(d_k)
    assert moments.rows == 2**d_k
    assert moments.mean == 0
    assert moments.square_mean == d_k
    assert moments.fourth_mean == 3 * d_k**2 - 2 * d_k
    assert moments.cross_term_max == 0
    assert (
        moments.square_mean / d_k == 1
    )  # after division by the root, for eight and for a thousand


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: enumerate_signs(21), "d_k = 21: enumeration of signs: 1 to 20"),
        (lambda: enumerate_signs(0), "d_k = 0"),
        (lambda: enumerate_signs(3, [1, -1]), "3 entries, each"),
        (lambda: enumerate_signs(2, [1, 0]), "2 entries, each"),
        (lambda: binomial_signs(0), "d_k = 0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(UserError, match=message):
        call()
