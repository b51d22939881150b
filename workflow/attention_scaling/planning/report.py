"""A plan in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from attention_scaling.planning.plan import Part, Plan, Shortfall
from attention_scaling.planning.rates import Rates

COLUMNS = ("experiment", "where", "jobs", "rows", "in all", "longest job", "memory")


def report(plan: Plan, rates: Rates, source: Path, every_cell: bool = False) -> str:
    """The plan as a table, its sums, where the rates come from, and what falls short."""
    lines = [*_table(plan.parts), "", *_sums(plan.parts, rates, source)]
    if plan.shortfalls:
        lines += ["", "What this study will not reach:", *_shortfalls(plan.shortfalls, every_cell)]
    return "\n".join(lines)


def _table(parts: Iterable[Part]) -> list[str]:
    rows = [COLUMNS, *map(_row, parts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _row(part: Part) -> tuple[str, ...]:
    return (
        part.experiment,
        part.place,
        f"{part.jobs:,}",
        f"{part.rows:,}" if part.rows else "",
        "?" if part.seconds is None else duration(part.seconds),
        "?" if part.longest is None else duration(part.longest),
        "?" if part.memory is None else f"{part.memory / 2**20:,.0f} MiB",
    )


def _sums(parts: list[Part], rates: Rates, source: Path) -> list[str]:
    jobs = sum(part.jobs for part in parts)
    lines = [f"{jobs:,} jobs, {sum(part.rows for part in parts):,} rows"]
    for what, chosen in (
        ("core", [part for part in parts if not part.on_gpu]),
        ("GPU", [part for part in parts if part.on_gpu]),
    ):
        known = [part for part in chosen if part.seconds is not None]
        unknown = sum(part.jobs for part in chosen if part.seconds is None)
        seconds = sum(part.seconds for part in known)
        if known:
            longest = duration(max(part.longest for part in known))
            memory = max(part.memory or 0.0 for part in known) / 2**20
            lines.append(
                f"{_of_one(seconds, what)}; the longest job {longest}, the largest {memory:,.0f} MiB"
            )
        if unknown:
            lines.append(
                f"{unknown:,} jobs on a {what} without a rate in {source}: "
                "measure it there, with plan --measure"
            )
    added = duration(jobs * rates.submitted)
    lines.append(f"on a cluster {added} more, in which Snakemake starts in each job")
    machines = ", ".join(sorted({place.machine for place in rates.places.values()}))
    lines.append(f"rates: {source}, measured on {machines}")
    return lines


def _shortfalls(shortfalls: list[Shortfall], every: bool) -> list[str]:
    """A line on the cells of an experiment that fall short for one reason, or one on each."""
    groups: dict[tuple[str, str], list[Shortfall]] = {}
    for short in shortfalls:
        groups.setdefault((short.experiment, short.why), []).append(short)
    lines = []
    for (experiment, why), group in groups.items():
        lines.append(f"  {experiment}: {len(group)} cells: {why}")
        group.sort(key=lambda short: -short.needed)
        lines += [f"    {_described(short)}" for short in group[: None if every else 1]]
        if len(group) > 1 and not every:
            lines[-1] += f"; and {len(group) - 1} more (--cells lists them)"
    return lines


def _described(short: Shortfall) -> str:
    label = short.cell.label.replace(",", ", ")
    if not short.needed:
        return label
    target, cap = short.cell.target_stderr, short.cell.samples
    return f"{label}: {target:g} needs {short.needed:.1e} rows, at most {cap:,} are drawn"


def _of_one(seconds: float, what: str) -> str:
    """The time of one core or GPU, such as "40 s of a core", "3.4 core-hours"."""
    if seconds < 5400:
        return f"{duration(seconds)} of a {what}"
    return f"{seconds / 3600:.1f} {what}-hours"


def duration(seconds: float) -> str:
    """A time such as "40 s", "12 min", "3.4 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
