"""The divisors of the scores, and division in each dtype."""

import numpy as np
import pytest

from attention_scaling.backends import UnavailableError
from attention_scaling.divisors import DIVISORS, divided, divisor_value
from attention_scaling.errors import UserError


def test_divisors():
    assert [divisor_value(name, 64) for name in DIVISORS] == [1, 8, 64]


@pytest.mark.parametrize(
    ("divisor", "d_k", "message"),
    [("square", 4, "one of none, root, width"), ("root", 0, "d_k = 0")],
)
def test_refusals(divisor, d_k, message):
    with pytest.raises(UserError, match=message):
        divisor_value(divisor, d_k)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("d_k", [64, 70_000, 1_000_000])
def test_a_quotient_is_rounded_once_even_where_the_divisor_is_beyond_the_dtype(
    backend, dtype, divisor, d_k
):
    try:
        scores = backend.asarray([-1200.0, 0.3, 3.0, 900.0], dtype)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    before = backend.to_numpy(scores).copy()
    found = divided(backend, scores, divisor, d_k)
    assert found.dtype == scores.dtype
    expected = backend.to_numpy(backend.asarray(before / divisor_value(divisor, d_k), dtype))
    # One step of the format, since float32 stands between, and the smallest number where it underflows.
    step = {"float64": 2e-16, "float32": 1.2e-7, "bfloat16": 2.0**-7, "float16": 2.0**-10}[dtype]
    np.testing.assert_allclose(backend.to_numpy(found), expected, rtol=step, atol=2.0**-24)
    np.testing.assert_array_equal(backend.to_numpy(scores), before)
