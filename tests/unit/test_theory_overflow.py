"""Overflow cutoffs against NumPy's own formats and its exponentials."""

import math

import numpy as np
import pytest

from attention_scaling.errors import UserError
from attention_scaling.theory.overflow import FORMATS, largest_number, overflow_cutoff


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_largest_number_is_numpys(dtype):
    assert largest_number(dtype) == float(np.finfo(dtype).max)


def test_largest_bfloat16_is_its_largest_bit_pattern():
    # bfloat16 is the upper half of a float32; exponent and significand full but for infinity.
    pattern = np.array([0x7F7F0000], dtype=np.uint32).view(np.float32)
    assert largest_number("bfloat16") == float(pattern[0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_exp_overflows_at_the_cutoff(dtype):
    cutoff = overflow_cutoff(dtype)
    spacing = float(np.spacing(np.array(cutoff, dtype=dtype)))
    with np.errstate(over="ignore"):
        assert np.isfinite(np.exp(np.array(cutoff - 2 * spacing, dtype=dtype)))
        assert np.isinf(np.exp(np.array(cutoff + 2 * spacing, dtype=dtype)))


def test_the_values_that_are_quoted():
    assert round(overflow_cutoff("float16"), 2) == 11.09
    assert round(overflow_cutoff("float32"), 1) == 88.7
    assert math.exp(12) > largest_number("float16") == 65504


def test_refusal_names_the_formats():
    with pytest.raises(UserError, match=", ".join(FORMATS)):
        overflow_cutoff("float8")
