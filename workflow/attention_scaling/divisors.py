"""The three divisors that the study compares: nothing, the root of the width, the width itself."""

from __future__ import annotations

import math

DIVISORS = ("none", "root", "width")


def divisor_value(divisor: str, d_k: float) -> float:
    """The number by which scores of width `d_k` are divided: 1, sqrt(d_k) or d_k."""
    return {"none": 1.0, "root": math.sqrt(d_k), "width": float(d_k)}[divisor]
