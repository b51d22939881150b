"""A number that was computed, not sampled, with a bound on how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExactValue:
    """`value` and an estimate of its absolute `error` (truncation and rounding, no chance)."""

    value: float
    error: float
