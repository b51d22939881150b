"""The closing correlation against the exact means, which find it by other nodes."""

from __future__ import annotations

import math

import pytest

from attention_scaling.errors import UserError
from attention_scaling.theory.closing import closing_rho
from attention_scaling.theory.softmax_means import LARGEST_RHO, softmax_mean


@pytest.mark.parametrize(
    ("n_keys", "d_k", "divisor"),
    [(8, 16, "root"), (8, 1024, "root"), (128, 256, "root"), (512, 16, "none")],
)
def test_the_mean_largest_weight_is_one_half_there(n_keys, d_k, divisor):
    rho = closing_rho(n_keys, d_k, divisor).rho
    weight = softmax_mean("top_weight", n_keys, d_k, divisor, rho=rho).value
    assert weight == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize(
    ("n_keys", "d_k", "divisor", "rho", "word"),
    [
        (8, 64, "none", 0.0, "closed"),
        (8, 4, "root", LARGEST_RHO, "open"),
        (32, 1024, "width", LARGEST_RHO, "open"),
    ],
)
def test_a_row_without_one_says_on_which_side_it_is(n_keys, d_k, divisor, rho, word):
    found = closing_rho(n_keys, d_k, divisor)
    exact = softmax_mean("top_weight", n_keys, d_k, divisor, rho=rho).value
    assert found.rho is None
    assert found.reason == f"{word} at rho = {rho:g}, with a mean largest weight of {exact:.3f}"


def test_a_single_key_is_closed():
    assert closing_rho(1, 64, "root").reason.startswith("closed")


def test_in_wide_heads_it_falls_with_the_root_of_the_width():
    narrow, wide = (closing_rho(8, d_k, "root").rho for d_k in (1024, 4096))
    assert math.log(wide / narrow) / math.log(4) == pytest.approx(-0.5, abs=0.005)


def test_an_unknown_divisor_is_refused():
    with pytest.raises(UserError):
        closing_rho(8, 64, "cube")
