"""Where exp overflows in a floating-point format, from the format's own definition."""

from __future__ import annotations

import math
from dataclasses import dataclass

from attention_scaling.errors import UserError


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format: bits of significand (the implied one included), largest exponent."""

    precision: int
    largest_exponent: int

    @property
    def largest(self) -> float:
        """Largest finite number, (2 - 2^(1 - precision)) 2^largest_exponent, exact in a Python float."""
        return math.ldexp(2.0 - self.spacing, self.largest_exponent)

    @property
    def spacing(self) -> float:
        """Distance from 1 to the next larger number, 2^(1 - precision)."""
        return math.ldexp(1.0, 1 - self.precision)


# IEEE 754-2019, table 3.5, for binary16, 32 and 64. bfloat16 is binary32 with its significand cut to 8 bits.
FORMATS = {
    "float16": FloatFormat(precision=11, largest_exponent=15),
    "bfloat16": FloatFormat(precision=8, largest_exponent=127),
    "float32": FloatFormat(precision=24, largest_exponent=127),
    "float64": FloatFormat(precision=53, largest_exponent=1023),
}


def largest_number(dtype: str) -> float:
    """Largest finite number of `dtype`, one of FORMATS. Raises UserError for any other name."""
    if dtype not in FORMATS:
        raise UserError(f"dtype {dtype!r}: overflow cutoff: one of {', '.join(FORMATS)}")
    return FORMATS[dtype].largest


def overflow_cutoff(dtype: str) -> float:
    """Score (nats) whose exponential is the largest number of `dtype`: beyond it exp is infinite."""
    return math.log(largest_number(dtype))
