"""All benchmarks of the library in one run, kept as a table that the site shows."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path

from attention_scaling import backends
from attention_scaling.atomic import write_text
from attention_scaling.bench import attention, plan, sampling
from attention_scaling.bench.record import Benchmark
from attention_scaling.errors import UserError
from attention_scaling.provenance import JobClock

GROUPS = {"sampling": sampling.measure, "attention": attention.measure, "plan": plan.measure}

_NAMES = [field.name for field in fields(Benchmark)]
_PLACE = ("machine", "cores")


def run(groups: Iterable[str]) -> Iterator[Benchmark]:
    """The benchmarks of `groups`, one at a time as they are done."""
    for name in groups:
        if name not in GROUPS:
            raise UserError(f"benchmark group {name!r}: allowed are {', '.join(GROUPS)}")
        yield from GROUPS[name]()


def line(benchmark: Benchmark) -> str:
    """One benchmark in a line for a terminal."""
    if benchmark.skipped_because is not None:
        return f"{benchmark.name}: skipped: {benchmark.skipped_because}"
    goal = ""
    if benchmark.target is not None:
        goal = f", to reach {benchmark.target}: {'reached' if benchmark.reached else 'MISSED'}"
    spread = f"{benchmark.low:.3g} to {benchmark.high:.3g}"
    return f"{benchmark.name}: {benchmark.median:.3g} ({spread}){goal}"


def write(path: Path, benchmarks: Iterable[Benchmark]) -> None:
    """Write the table as CSV at `path`, with the machine it was measured on."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*_NAMES, *_PLACE], lineterminator="\n")
    writer.writeheader()
    place = {"machine": _machine(), "cores": os.cpu_count()}
    writer.writerows(asdict(benchmark) | place for benchmark in benchmarks)
    write_text(path, text.getvalue())


def _machine() -> str:
    try:
        backends.load("torch", "cuda")
        device = "cuda"
    except backends.UnavailableError:
        device = "cpu"
    facts = JobClock("bench", "all", "torch", device, code="").facts()
    return facts.cpu if facts.accelerator is None else f"{facts.cpu}, {facts.accelerator}"
