"""One benchmark's outcome: a ratio, what it should reach, and what bounds it."""

from __future__ import annotations

from dataclasses import dataclass

from attention_scaling.bench.timing import Ratio


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A ratio of two measured times or sizes. `target` is a bound in words, such as ">= 400", or None."""

    name: str
    what: str
    median: float | None = None
    low: float | None = None
    high: float | None = None
    target: str | None = None
    reached: bool | None = None
    bound_by: str | None = None
    skipped_because: str | None = None

    @classmethod
    def ratio(
        cls,
        name: str,
        what: str,
        ratio: Ratio,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        bound_by: str | None = None,
    ) -> Benchmark:
        """A measured ratio, held against a bound where there is one."""
        target = reached = None
        if at_least is not None:
            target, reached = f">= {at_least:g}", ratio.median >= at_least
        elif at_most is not None:
            target, reached = f"<= {at_most:g}", ratio.median <= at_most
        return cls(
            name=name,
            what=what,
            median=ratio.median,
            low=ratio.low,
            high=ratio.high,
            target=target,
            reached=reached,
            bound_by=bound_by,
        )

    @classmethod
    def skipped(cls, name: str, what: str, reason: str) -> Benchmark:
        """A benchmark that this machine cannot run."""
        return cls(name=name, what=what, skipped_because=reason)
