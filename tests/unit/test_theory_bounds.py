"""Bounds on weights: that they hold for any row, and that they are attained."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from attention_scaling.errors import UserError
from attention_scaling.theory.bounds import (
    LARGEST_DERIVATIVE,
    largest_capacity,
    winner_scores,
    winner_weight,
)

rows = st.integers(1, 40).flatmap(lambda n: arrays(float, n, elements=st.floats(-30, 30)))


@given(rows)
def test_a_winner_has_at_least_its_bound(scores):
    ordered = np.sort(scores)
    margin = ordered[-1] - ordered[-2] if len(scores) > 1 else 0.0
    assert softmax(scores).max() >= winner_weight(margin, len(scores)) * (1 - 1e-12)


@given(st.floats(-700, 700), st.integers(1, 5000))
def test_the_bound_is_attained_when_all_others_tie(margin, n_keys):
    attained = softmax(winner_scores(margin, n_keys))[0]
    assert winner_weight(margin, n_keys) == pytest.approx(attained, rel=1e-12)


def test_ten_ahead_among_thirty_two():
    assert round(winner_weight(10, 32), 4) == 0.9986


@given(rows)
def test_capacity_and_derivatives_stay_below_their_bounds(scores):
    weights = softmax(scores)
    assert 1 - np.sum(weights**2) <= largest_capacity(len(scores)) + 1e-12
    assert np.max(weights * (1 - weights)) <= LARGEST_DERIVATIVE + 1e-15


def test_the_bounds_are_attained():
    even = np.full(8, 1 / 8)
    assert largest_capacity(8) == 0.875 == 1 - np.sum(even**2)
    assert LARGEST_DERIVATIVE == 0.5 * (1 - 0.5)


@pytest.mark.parametrize("call", [largest_capacity, lambda n: winner_weight(1, n)])
def test_refusal_of_no_keys(call):
    with pytest.raises(UserError, match="n_keys = 0"):
        call(0)
