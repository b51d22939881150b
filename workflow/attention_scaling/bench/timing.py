"""Timing two or more ways of doing something side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """How many times as long one way took as another: median, least and greatest over the rounds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Timings:
    """Seconds by way and round; round r of every way ran right after round r of the way before."""

    seconds: dict[str, list[float]]

    def median(self, way: str) -> float:
        """The median time of one way, in seconds."""
        return statistics.median(self.seconds[way])

    def ratios(self, way: str, other: str, scale: float = 1.0) -> list[float]:
        """Time of `way` over time of `other`, times `scale`, of each round.

        Taken round by round, since a machine's speed drifts while both sides of a round feel the same.
        """
        return [
            scale * one / another
            for one, another in zip(self.seconds[way], self.seconds[other], strict=True)
        ]

    def ratio(self, way: str, other: str, scale: float = 1.0) -> Ratio:
        """Median, least and greatest of `ratios`."""
        ratios = self.ratios(way, other, scale)
        return Ratio(statistics.median(ratios), min(ratios), max(ratios))


def interleaved(
    ways: dict[str, Callable[[], object]],
    rounds: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> Timings:
    """Run every way in turn, `rounds` times over, after one turn that does not count.

    `clock` gives seconds: wall time unless told. `time.process_time` leaves out what other processes take of
    the core.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for current in range(rounds + 1):
        for name, way in ways.items():
            start = clock()
            way()
            elapsed = clock() - start
            if current > 0:
                seconds[name].append(elapsed)
    return Timings(seconds)
