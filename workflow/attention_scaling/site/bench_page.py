"""The table of benchmarks, as last measured and kept in the repository."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from attention_scaling.bench.record import Benchmark
from attention_scaling.errors import UserError
from attention_scaling.figures.wording import short
from attention_scaling.site.markdown import escape, table


def bench_part(path: Path) -> str:
    """Markdown of the benchmarks that `python -m attention_scaling bench` wrote to `path`."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            records = list(csv.DictReader(file))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; run make bench") from error
    wanted = {*Benchmark.__dataclass_fields__, "machine", "cores"}
    if not records or set(records[0]) != wanted:
        raise UserError(f"{path}: not a table of benchmarks; run make bench")
    machines = Counter(f"{record['machine']} ({record['cores']} cores)" for record in records)
    measured = table(
        ["What over what", "Median", "Least to most", "To reach", "What bounds it"],
        "lrrll",
        [_row(record) for record in records],
        caption="Benchmarks: ratios, medians over rounds that take both sides in turn",
        label="bench",
    )
    return f"Measured on {escape(', '.join(machines))}.\n\n{measured}"


def _row(record: dict[str, str]) -> list[str]:
    what = escape(record["what"])
    if record["skipped_because"]:
        return [what, "–", "–", "–", f"skipped: {escape(record['skipped_because'])}"]
    goal = "–"
    if record["target"]:
        symbol = record["target"].replace(">=", "≥").replace("<=", "≤")
        goal = f"{symbol}, {'reached' if record['reached'] == 'True' else '**missed**'}"
    spread = f"{short(float(record['low']))} to {short(float(record['high']))}"
    return [what, short(float(record["median"])), spread, goal, escape(record["bound_by"])]
