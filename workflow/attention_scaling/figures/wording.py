"""Numbers as text, and short descriptions of how they run: for captions, alt texts and pages."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence

DIVISOR_WORDS = {"none": "undivided", "root": "over the root of d_k", "width": "over d_k"}

DIVISOR_MARKUP = {"none": "undivided", "root": "over $\\sqrt{d_k}$", "width": "over $d_k$"}

REMEDY_WORDS = {
    **DIVISOR_WORDS,
    "qk_norm": "QK-norm",
    "folded": "folded into W_Q",
    "additive": "additive",
    "softcap": "soft cap",
    "qk_rms": "QK-RMS",
}
"""Remedies in the order in which they are shown."""

REMEDY_MARKUP = {
    **REMEDY_WORDS,
    **DIVISOR_MARKUP,
    "folded": "folded into $W_Q$",
}

MOST_PLACES = 9
"""Decimals beyond which a value and its error are no longer written out."""

SAME = 1e-7
"""Numbers that differ by less, relative to their size, are one number, but for the rounding of arithmetic."""

VERSION_WORDS = {"plain": "whole matrices", "tiled": "blocks"}

KERNEL_WORDS = {
    **VERSION_WORDS,
    "math": "PyTorch, math",
    "flash": "PyTorch, flash",
    "efficient": "PyTorch, efficient",
    "cudnn": "PyTorch, cuDNN",
}

STEADY = 0.05
"""A series whose values differ by at most this share of the largest counts as standing still."""


def law_words(law: str) -> str:
    """The name of a law in prose."""
    named = {"gaussian": "Gaussian", "laplace": "Laplace", "student_t": "Student's t"}
    return named.get(law, law)


def short(value: float, digits: int = 3) -> str:
    """A number to `digits` significant digits, without an exponent where that stays readable."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exponent = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if not -5 <= exponent <= 6:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}\u00a0×\u00a010^{int(power)}^".replace("-", "−")
    text = f"{value:,.{max(0, digits - 1 - exponent)}f}"
    return text.replace("-", "−")


def plain(value: float, digits: int = 6) -> str:
    """A number to at most `digits` significant digits; zeros at the end stand only where they were rounded to."""
    text = short(value, digits)
    rounded = float(f"{value:.{digits - 1}e}")
    if not math.isclose(rounded, value, rel_tol=SAME):
        return text
    mantissa, times, power = text.partition("\u00a0×")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + times + power


def in_html(text: str) -> str:
    """Numbers of this module with their powers as HTML."""
    return _POWER.sub(r"<sup>\1</sup>", text)


def in_plain_text(text: str) -> str:
    """Numbers of this module with their powers as plain text: 10^−7."""
    return _POWER.sub(r"^\1", text)


_POWER = re.compile(r"\^(−?\d+)\^")


def with_error(value: float, stderr: float | None) -> str:
    """A measured value and its standard error, both to the error's second digit: 0.3427 ± 0.0012, in one line.

    Without an error, or with one below the value's own rounding (an exact value has 0), six digits.
    """
    if stderr is None or math.isnan(stderr) or stderr <= sys.float_info.epsilon * abs(value):
        return plain(value)
    places = max(0, 1 - math.floor(math.log10(stderr)))
    if places > MOST_PLACES:
        digits = places + 1 + (math.floor(math.log10(abs(value))) if value else 0)
        text = plain(value, MOST_PLACES) if digits > MOST_PLACES else short(value, max(1, digits))
        return f"{text}\u00a0±\u00a0{short(stderr, 2)}"
    return f"{value:,.{places}f}\u00a0±\u00a0{stderr:.{places}f}".replace("-", "−")


def count(number: int) -> str:
    """A whole number with its thousands marked."""
    return f"{number:,}"


def percent(share: float, places: int = 1) -> str:
    """A share as a percentage, without its sign."""
    return f"{100 * share:.{places}f}".replace("-", "−")


def listing(items: Sequence[object]) -> str:
    """a, b and c."""
    texts = [str(item) for item in items]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def course(values: Sequence[float]) -> str:
    """How a series runs from its first value to its last, in words with the numbers."""
    first, last, low, high = values[0], values[-1], min(values), max(values)
    if len(values) == 1:
        return f"is {short(first)}"
    if high - low <= STEADY * max(abs(low), abs(high)):
        return f"stays between {short(low)} and {short(high)}" if high > low else "stays put"
    return f"{'rises' if last > first else 'falls'} from {short(first)} to {short(last)}"
