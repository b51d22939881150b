"""A number as a text prints it: its value, and how much its last place leaves open."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_SEPARATORS = re.compile(r"(?<=\d)[,\u00a0\u2009\u202f ](?=\d{3}(?!\d))")


def plain(text: str) -> str:
    """`text` with thousands separators (comma, space, thin space) taken out and an ASCII minus."""
    return _SEPARATORS.sub("", text.strip().replace("\N{MINUS SIGN}", "-"))


def _decimal(text: str) -> Decimal:
    digits = plain(text)
    if not _NUMBER.fullmatch(digits):
        raise ValueError(f"{text!r} is not a printed number, such as 0.236 or 2,981")
    return Decimal(digits)


@dataclass(frozen=True)
class Printed:
    """A printed number and the unit of its last place."""

    number: Decimal
    last_place: Decimal

    @classmethod
    def parse(cls, text: str, rounded_to: str | None = None) -> Printed:
        """Read "0.236", "2 981" or "163,000"; `rounded_to` is the unit of the last digit that counts.

        Without `rounded_to` the last digit printed counts. Raises `ValueError` for anything else.
        """
        number = _decimal(text)
        if rounded_to is None:
            return cls(number, Decimal(1).scaleb(number.as_tuple().exponent))
        last_place = _decimal(rounded_to)
        if last_place <= 0:
            raise ValueError(f"rounded_to: {rounded_to!r} is not a unit, such as 0.01 or 1000")
        return cls(number, last_place)

    @property
    def value(self) -> float:
        """The number as a float."""
        return float(self.number)

    @property
    def half_unit(self) -> float:
        """Half a unit in the last place: the farthest that rounding moves a number."""
        return float(self.last_place) / 2

    def rounded(self, value: float) -> str:
        """`value` rounded to the same place, as text."""
        if not math.isfinite(value):
            return str(value)
        places = -self.last_place.as_tuple().exponent
        if self.last_place == Decimal(1).scaleb(-places) and places >= 0:
            # The same correctly rounded conversion that a format such as :.3f prints with.
            return f"{value:.{places}f}"
        steps = round(Decimal(value) / self.last_place)
        return str(steps * self.last_place)

    def matches(self, value: float) -> bool:
        """Whether `value`, rounded to the same place, is the printed number."""
        return Decimal(self.rounded(value)) == self.number
