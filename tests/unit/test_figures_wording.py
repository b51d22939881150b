"""Numbers as text, and how series are described."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_scaling.figures import style, wording


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.342631, "0.343"),
        (32.03, "32.0"),
        (0.99951, "1.00"),
        (1048576, "1,048,576"),
        (-0.5, "−0.500"),
        (0, "0"),
        (3.4e38, "3.40 × 10^38^"),
        (1.1e-7, "1.10 × 10^−7^"),
    ],
)
def test_short(value, text):
    assert wording.short(value).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (20.0, "20"),
        (0.25, "0.25"),
        (0.3426310681, "0.342631"),
        (65504.0, "65,504"),
        (1e-9, "1 × 10^−9^"),
        (0.870999812, "0.871000"),
        (0.1 + 0.2, "0.3"),
        (0.9999999999, "1"),
    ],
)
def test_plain(value, text):
    assert wording.plain(value).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("value", "stderr", "text"),
    [
        (0.34262, 0.00123, "0.3426 ± 0.0012"),
        (-1.5, 0.25, "−1.50 ± 0.25"),
        (613.86, 12.0, "614 ± 12"),
        (0.25, 0.0, "0.25"),
        (0.25, None, "0.25"),
        (0.25, math.nan, "0.25"),
        (1.0, 6.4e-15, "1 ± 6.4 × 10^−15^"),
        (1.0, 6.4e-17, "1"),
        (3.0937e-15, 5.1e-17, "3.094 × 10^−15^ ± 5.1 × 10^−17^"),
        (0.0, 6.4e-17, "0 ± 6.4 × 10^−17^"),
    ],
)
def test_with_error(value, stderr, text):
    assert wording.with_error(value, stderr).replace("\u00a0", " ") == text


@given(st.floats(1e-4, 1e4), st.integers(2, 8))
def test_short_is_the_number_rounded(value, digits):
    written = float(wording.short(value, digits).replace(",", ""))
    assert abs(written - value) <= 0.51 * 10.0 ** (math.floor(math.log10(value)) - digits + 1)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.1, 0.5, 0.9], "rises from 0.100 to 0.900"),
        ([0.9, 0.1], "falls from 0.900 to 0.100"),
        ([0.160, 0.165, 0.163], "stays between 0.160 and 0.165"),
        ([1.0, 1.0], "stays put"),
        ([0.3], "is 0.300"),
    ],
)
def test_course(values, words):
    assert wording.course(values) == words


@pytest.mark.parametrize(
    ("items", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_listing(items, text):
    assert wording.listing(items) == text


def test_powers_of_ten_outside_of_markdown():
    number = wording.short(1.1e-7).replace("\u00a0", " ")
    assert wording.in_html(number) == "1.10 × 10<sup>−7</sup>"
    assert wording.in_plain_text(number) == "1.10 × 10^−7"


def test_remedies_are_worded_in_the_order_of_their_looks():
    assert list(wording.REMEDY_WORDS) == list(wording.REMEDY_MARKUP) == list(style.REMEDY_LOOKS)
