"""One claim's whole story, for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from attention_scaling.errors import UserError
from attention_scaling.ledger.findings import number
from attention_scaling.ledger.models import Claim, Lesson, Query
from attention_scaling.tables import EXACT_METHODS, VARYING_METHODS, timings_path

_WIDTH = 100


def lookup(claim_id: str, lessons: Sequence[Lesson]) -> tuple[Lesson, Claim]:
    """The claim of that id; `UserError`, with the ids that come close, where there is none."""
    entries = {claim.id: (lesson, claim) for lesson in lessons for claim in lesson.entries}
    if claim_id in entries:
        return entries[claim_id]
    near = [name for name in entries if name.lower().startswith(claim_id.lower())]
    hint = (
        f"; there are {', '.join(near[:8])}"
        if near
        else "; the site's ledger lists all ids, results/verdicts.csv too"
    )
    raise UserError(f"claim {claim_id!r}: no such claim{hint}")


def explain(
    claim_id: str,
    lessons: Sequence[Lesson],
    verdicts: pd.DataFrame | None,
    results: str,
    config: Path | None = None,
) -> str:
    """What the lesson says, what was measured, how the two were compared, and how to do it again.

    `verdicts` is the table of verdicts, or None before a study has run; `results` says where the table of
    measurements lies, `config` which study it is of where that is not the usual one. Raises `UserError` for an id
    that no claim has.
    """
    lesson, claim = lookup(claim_id, lessons)
    lines = [claim.id, f"  {claim.says}", ""]

    def add(label: str, text: str | None) -> None:
        if text:
            indent = " " * 17
            lines.append(
                textwrap.fill(f"{label + ':':<16} {text}", _WIDTH, subsequent_indent=indent)
            )

    also = f" (and {', '.join(map(str, claim.also))})" if claim.also else ""
    add("  lesson", f"{lesson.title}, {lesson.file}, line {claim.line}{also}")
    add("  claimed", _claimed(claim))
    add("  kind", claim.kind)
    add("  difference", claim.differs)
    add("  note", claim.note)
    add("  figure", claim.figure)
    add("  page", claim.page)
    for query, label in zip(claim.queries, ("  measured by", "  divided by"), strict=False):
        add(label, _query(query))
    mine = None if verdicts is None else verdicts[verdicts["claim"] == claim.id]
    if mine is None:
        lines += ["", "  No verdicts yet: run the study first (make report)."]
    else:
        for _, row in mine.iterrows():
            lines += ["", *_verdict(row)]
    if claim.queries:
        lines += ["", *_reproduce(claim, results, mine, config)]
    return "\n".join(lines)


def _claimed(claim: Claim) -> str | None:
    relation = "" if claim.comparison in ("equals", "within_error") else claim.comparison
    if claim.range:
        return f"between {number(claim.range[0])} and {number(claim.range[1])}"
    if claim.printed:
        rounded = f", rounded to {claim.rounded_to}" if claim.rounded_to else ""
        return f"{relation.replace('_', ' ')} {claim.printed} (as printed{rounded})".strip()
    if claim.value is not None:
        words = f" (in the text: {', '.join(claim.numerals)})" if claim.numerals else ""
        return f"{relation.replace('_', ' ')} {number(claim.value)}{words}".strip()
    return None


def _query(query: Query) -> str:
    cell = query.where.words()
    return f"{query.experiment}, {query.quantity}" + (f", {cell}" if cell else "")


def _verdict(row: pd.Series) -> list[str]:
    measured_by = [row[c] for c in ("backend", "device", "dtype", "method") if pd.notna(row[c])]
    expected = "" if row["expected"] else " (unexpected)"
    title = f"{', '.join(measured_by)}: " if measured_by else ""
    lines = [f"  {title}{row['verdict']}{expected}", f"    {row['sentence']}"]
    lines = [textwrap.fill(line, _WIDTH, subsequent_indent="    ") for line in lines]
    if pd.notna(row["value"]):
        error = f" ± {number(row['stderr'])}" if row["stderr"] > 0 else ""
        lines.append(f"    value {number(row['value'])}{error}")
        if pd.notna(row["exact"]):
            lines[-1] += f", exact value {row['exact']:.9g}"
        low, high = (number(row[c]) if pd.notna(row[c]) else None for c in ("low", "high"))
        if low is not None or high is not None:
            lines.append(f"    accepted from {low or '-∞'} to {high or '∞'}")
    return lines


def _reproduce(
    claim: Claim, results: str, verdicts: pd.DataFrame | None, config: Path | None
) -> list[str]:
    measured = pd.DataFrame() if verdicts is None else verdicts.dropna(subset="backend")
    first = {} if measured.empty else measured.iloc[0]
    varies = first.get("method") in VARYING_METHODS
    table = timings_path(Path(results)) if varies else results
    query = claim.queries[0]
    cell = query.where.conditions()
    tests = [f"experiment == '{query.experiment}'", f"quantity == '{query.quantity}'"]
    tests += [
        f"{name} == {value!r}" if value is not None else f"{name}.isna()"
        for name, value in cell.items()
    ]
    return [
        "  the row of the table:",
        f'    pandas.read_parquet("{table}").query("{" and ".join(tests)}")',
        "  to measure it again, alone, into a table of its own:",
        *_commands(claim, first, config),
    ]


def _commands(claim: Claim, first: Mapping[str, Any], config: Path | None) -> list[str]:
    """The jobs that measure the claim, and how their files become a table: a job's file has no means yet."""
    study = f" --config {config}" if config else ""
    jobs = {}
    for query in claim.queries:
        cell = query.where.conditions()
        file = f"/tmp/again/{query.experiment}"
        if (cell.get("method") or first.get("method")) in EXACT_METHODS:
            jobs[f"{file}-exact.parquet"] = f"exact {query.experiment}"
        else:
            backend = cell.get("backend") or first.get("backend", "numpy")
            device = cell.get("device") or first.get("device", "cpu")
            place = f"--backend {backend}" + (f" --device {device}" if device != "cpu" else "")
            jobs[f"{file}.parquet"] = f"run {query.experiment} {place}"
    stages = [f"{job}{study} --output {file}" for file, job in jobs.items()]
    stages.append(f"collect {' '.join(jobs)}{study} --output /tmp/again/measurements.parquet")
    return [f"    python -m attention_scaling {stage}" for stage in stages]
