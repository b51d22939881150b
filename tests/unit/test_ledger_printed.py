import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_scaling.ledger.printed import Printed, plain


@pytest.mark.parametrize(
    ("text", "value", "half_unit"),
    [
        ("0.236", 0.236, 0.0005),
        ("32.03", 32.03, 0.005),
        ("-0.012", -0.012, 0.0005),
        ("\N{MINUS SIGN}1", -1.0, 0.5),
        ("2\N{THIN SPACE}981", 2981.0, 0.5),
        ("65,504", 65504.0, 0.5),
        ("1 024", 1024.0, 0.5),
        ("0.40", 0.4, 0.005),
    ],
)
def test_value_and_half_unit(text, value, half_unit):
    printed = Printed.parse(text)
    assert printed.value == value
    assert printed.half_unit == pytest.approx(half_unit, rel=1e-12)


def test_only_digits_that_count_are_compared():
    printed = Printed.parse("163,000", rounded_to="1000")
    assert printed.matches(162754.79)
    assert not printed.matches(162499.0)
    assert not Printed.parse("163,000").matches(162754.79)


@pytest.mark.parametrize("text", ["", "about 5", "1/6", "1e3", "0x10", "nan", "2 98"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="not a printed number"):
        Printed.parse(text)


@pytest.mark.parametrize("unit", ["0", "-0.1", "a tenth", "nan", "Infinity"])
def test_what_is_no_unit_is_refused(unit):
    with pytest.raises(ValueError, match="not a"):
        Printed.parse("0.5", rounded_to=unit)


@pytest.mark.parametrize("unit", ["1000", "1,000"])
@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_what_is_not_finite_matches_nothing(value, unit):
    assert not Printed.parse("163,000", rounded_to=unit).matches(value)


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_a_number_matches_its_own_print_and_no_neighbour(value, decimals):
    text = f"{value:.{decimals}f}"
    assert Printed.parse(text).matches(value)
    step = 10.0**-decimals
    assert not Printed.parse(f"{float(text) + 2 * step:.{decimals}f}").matches(value)


def test_commas_of_a_list_are_no_thousands_separators():
    assert plain("8, 64, 512") == "8, 64, 512"
    assert plain("4,16") == "4,16"
