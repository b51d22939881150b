"""Count, mean and sum of squared deviations of a sample: what can be merged without loss.

Merging follows Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
variances" (1979), equations 1.5a and 1.5b. Floating-point sums depend on their order, so whoever wants equal
digits merges in a fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Moments:
    """`count` numbers with their `mean` and `m2`, the sum of squared deviations from it.

    `mean` and `m2` may be scalars of an array library, so that blocks merge on the device they were drawn on.
    """

    count: int = 0
    mean: float = 0.0
    m2: float = 0.0

    def __add__(self, other: Moments) -> Moments:
        """The moments of both samples together."""
        if self.count == 0:
            return other
        if other.count == 0:
            return self
        count = self.count + other.count
        delta = other.mean - self.mean
        return Moments(
            count,
            self.mean + delta * (other.count / count),
            self.m2 + other.m2 + delta * delta * (self.count * other.count / count),
        )

    @property
    def variance(self) -> float:
        """The unbiased sample variance; NaN for fewer than two numbers."""
        return self.m2 / (self.count - 1) if self.count > 1 else math.nan

    @property
    def stderr(self) -> float:
        """The standard error of the mean; NaN for fewer than two numbers."""
        return math.sqrt(self.variance / self.count) if self.count > 1 else math.nan


def merge(parts: Iterable[Moments]) -> Moments:
    """The moments of all parts together, added in the order given."""
    total = Moments()
    for part in parts:
        total = total + part
    return total
