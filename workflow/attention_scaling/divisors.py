"""The three divisors that the study compares: nothing, the root of the width, the width itself."""

from __future__ import annotations

import math

from attention_scaling.backends import Array, Backend
from attention_scaling.errors import UserError

DIVISORS = ("none", "root", "width")


def divisor_value(divisor: str, d_k: int) -> float:
    """What scores of width `d_k` are divided by: 1 ("none"), sqrt(d_k) ("root") or d_k ("width").

    Raises `UserError` for another name or d_k < 1.
    """
    if d_k < 1:
        raise UserError(f"d_k = {d_k}: width of the heads: a whole number from 1")
    match divisor:
        case "none":
            return 1.0
        case "root":
            return math.sqrt(d_k)
        case "width":
            return float(d_k)
    raise UserError(f"divisor {divisor!r}: scaling of the scores: one of {', '.join(DIVISORS)}")


def divided(backend: Backend, scores: Array, divisor: str, d_k: int) -> Array:
    """A new array of `scores` over the divisor, rounded to their dtype once.

    Half-precision scores are divided in float32, as hardware does, since the divisor itself may be beyond
    float16: a width from 65,520 rounds to infinity there.
    """
    value = divisor_value(divisor, d_k)
    if scores.dtype.itemsize > 2:
        return scores / value
    xp = backend.xp
    return xp.astype(xp.astype(scores, xp.float32) / value, scores.dtype)
