"""The ledger on the site: how many claims came out how, what differs, the table of claims, and each in full."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

import pandas as pd

from attention_scaling.figures import REGISTRY as FIGURES
from attention_scaling.figures.outcomes import (
    OUTCOMES,
    counts_by_lesson,
    outcome_of_row,
    outcomes,
)
from attention_scaling.figures.slices import BACKEND_NAMES
from attention_scaling.figures.wording import listing, plain, with_error
from attention_scaling.ledger.models import Claim, Lesson
from attention_scaling.site.markdown import badge, code, escape, table
from attention_scaling.site.measurement_page import anchor
from attention_scaling.tables import plain_rows

NOTHING = "–"


@dataclass(frozen=True)
class _Entry:
    """A claim of the ledger with its verdicts and what they come to."""

    lesson: Lesson
    claim: Claim
    verdicts: list[dict[str, Any]]
    outcome: str


def ledger_parts(
    lessons: Sequence[Lesson], verdicts: pd.DataFrame, measurements: pd.DataFrame
) -> dict[str, str]:
    """Markdown of the ledger's parts, by the name under which pages include them."""
    entries = _entries(lessons, verdicts)
    rows = _RowFinder(measurements)
    return {
        "verdict-counts": _counts(verdicts),
        "differences": _differences(entries),
        "coverage": _coverage(lessons),
        "ledger": _ledger(entries),
        "claims": _claims(entries, rows),
    }


def _entries(lessons: Sequence[Lesson], verdicts: pd.DataFrame) -> list[_Entry]:
    found = outcomes(verdicts)
    by_claim: dict[str, list[dict[str, Any]]] = {}
    for record in verdicts.to_dict("records"):
        by_claim.setdefault(record["claim"], []).append(record)
    return [
        _Entry(lesson, claim, by_claim[claim.id], str(found[claim.id]))
        for lesson in lessons
        for claim in lesson.entries
        if claim.id in by_claim
    ]


def _filtered(outcome: str) -> str:
    """The address of the ledger with only the claims of an outcome shown."""
    return f"ledger.qmd#verdict={quote_plus(outcome)}"


def _outcome_badge(outcome: str) -> str:
    return badge(outcome.partition(",")[0], outcome)


def _counts(verdicts: pd.DataFrame) -> str:
    counts = counts_by_lesson(verdicts)
    shown = [outcome for outcome in OUTCOMES if counts[outcome].sum()]
    lines = [
        [escape(str(lesson)), *(str(row[outcome]) for outcome in shown), str(row.sum())]
        for lesson, row in counts.iterrows()
    ]
    totals = counts.sum()
    lines.append(["all", *(str(totals[outcome]) for outcome in shown), str(totals.sum())])
    headers = [f"[{outcome}]({_filtered(outcome)})" for outcome in shown]
    return table(
        ["Lesson", *headers, "claims"],
        "l" + "r" * (len(shown) + 1),
        lines,
        caption="Claims by lesson and by what became of them",
        label="verdict-counts",
    )


def _differences(entries: Sequence[_Entry]) -> str:
    """The claims that differ, as a list; the unexplained ones first."""
    differing = [entry for entry in entries if entry.outcome.startswith("differs")]
    if not differing:
        return "No claim differs from what was measured.\n"
    differing.sort(key=lambda entry: entry.outcome != "differs")
    lines = []
    explained: dict[str, str] = {}
    for entry in differing:
        claim = entry.claim
        worst = next(
            record
            for record in entry.verdicts
            if outcome_of_row(record["verdict"], record["expected"]) == entry.outcome
        )
        first = explained.setdefault(claim.differs or "", claim.id)
        if not claim.differs:
            explanation = "No explanation is known."
        elif first == claim.id:
            explanation = escape(claim.differs)
        else:
            explanation = f"Explained as for {escape(first)}."
        lines.append(
            f"- {_outcome_badge(entry.outcome)} [{escape(claim.id)}](claims.qmd#claim-{claim.id}): "
            f"{_sentence(claim.says)} {escape(worst['sentence'])} {explanation}"
        )
    return "\n".join(lines) + "\n"


def _coverage(lessons: Sequence[Lesson]) -> str:
    """How many numerals of each lesson's text are accounted for, as last counted."""
    lines = []
    for lesson in lessons:
        counts = lesson.coverage
        numbers = (
            [str(counts.numerals), str(counts.claimed), str(counts.no_claim)]
            if counts
            else ["not counted", NOTHING, NOTHING]
        )
        lines.append([escape(lesson.title), *numbers, str(len(lesson.entries))])
    return table(
        ["Lesson", "Numerals", "claimed", "no claim, with a reason", "Claims"],
        "lrrrr",
        lines,
        caption="Every numeral of the lessons' texts: claimed, or no claim and why",
        label="coverage",
    )


def _ledger(entries: Sequence[_Entry]) -> str:
    """The table of claims that can be filtered."""
    lines = []
    for entry in entries:
        claim = entry.claim
        if claim.printed:
            claimed = escape(claim.printed)
        else:
            claimed = plain(claim.value) if claim.value is not None else NOTHING
        lines.append(
            [
                f"[{escape(claim.id)}](claims.qmd#claim-{claim.id}){{#{claim.id}}}<br>line {claim.line}",
                escape(entry.lesson.lesson),
                claim.kind,
                escape(claim.says),
                claimed,
                _measured_lines(entry.verdicts),
                _exact(entry.verdicts),
                _figure_link(claim, "figure") or NOTHING,
                _outcome_badge(entry.outcome),
            ]
        )
    body = table(
        [
            "Claim",
            "Lesson",
            "Kind",
            "Says",
            "Claimed",
            "Measured",
            "Exact",
            "Figure",
            "Verdict",
        ],
        "lllllllll",
        lines,
        caption="The claims of the lessons, and what was measured",
        label="ledger",
    )
    return f'::: {{.filterable filter="Lesson Kind Verdict"}}\n\n{body}\n:::\n'


def _backend(record: dict[str, Any]) -> str:
    pair = (record["backend"], record["device"])
    if any(pd.isna(part) for part in pair):
        return ""
    name = BACKEND_NAMES.get(pair, " ".join(pair))
    return name if record["dtype"] == "float64" else f"{name} {record['dtype']}"


def _measured_lines(records: list[dict[str, Any]]) -> str:
    """What each backend measured, one line each; one line in all where they agree to the letter."""
    texts = {
        f"{_backend(record)} ({record['method']})": with_error(record["value"], record["stderr"])
        for record in records
        if pd.notna(record["value"])
    }
    if not texts:
        return NOTHING
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    several_methods = len({record["method"] for record in records}) > 1
    return "<br>".join(
        f"{escape(name if several_methods else name.partition(' (')[0])} {text}"
        for name, text in texts.items()
    )


def _exact(records: list[dict[str, Any]]) -> str:
    known = [record["exact"] for record in records if pd.notna(record["exact"])]
    return plain(known[0]) if known else NOTHING


def _figure_link(claim: Claim, text: str) -> str | None:
    """A link to the claim's figure, where the site has one of that name."""
    entry = FIGURES.get(claim.figure or "")
    return f"[{text}]({entry.address})" if entry else None


def _claims(entries: Sequence[_Entry], rows: _RowFinder) -> str:
    """Each claim in full, a section a lesson."""
    parts = []
    lesson = None
    for entry in entries:
        if entry.lesson is not lesson:
            lesson = entry.lesson
            parts.append(f"## {escape(lesson.title)} {{#{lesson.lesson}}}\n")
        parts.append(_claim(entry, rows))
    return "\n".join(parts)


def _claim(entry: _Entry, rows: _RowFinder) -> str:
    claim, lesson = entry.claim, entry.lesson
    lines = ", ".join(str(line) for line in [claim.line, *claim.also])
    facts = [
        f"{escape(lesson.title)}, line {lines}. {_claimed(claim)} "
        f"[In the ledger](ledger.qmd#{claim.id})."
    ]
    if claim.differs:
        facts.append(f"Why it differs: {escape(claim.differs)}")
    if claim.note:
        facts.append(f"Note: {escape(claim.note)}")
    paragraphs = ["\n\n".join(facts), _verdict_table(entry, rows), _reasons(entry.verdicts)]
    links = [
        link
        for link in (_figure_link(claim, f"the figure {claim.figure}"), _page_link(claim))
        if link
    ]
    if links:
        paragraphs.append(f"Shown in {', '.join(links)}.")
    if claim.measure:
        query = f"{claim.measure.experiment}, {claim.measure.quantity}"
        cell = ", ".join(
            f"{name} = {value}" for name, value in claim.measure.where.conditions().items()
        )
        paragraphs.append(f"Row of the table: {code(f'{query}, {cell}' if cell else query)}.")
    command = f"python -m attention_scaling claim {shlex.quote(claim.id)}"
    paragraphs.append(f"The reasoning again: {code(command)}")
    body = "\n\n".join(paragraphs)
    # The id is inside, because browsers open what is closed around the target of a link.
    return (
        f"<details>\n<summary>{_summary(entry)}</summary>\n\n"
        f"::: {{#claim-{claim.id} .claim}}\n{body}\n:::\n\n</details>\n"
    )


def _summary(entry: _Entry) -> str:
    """The line of a claim that is always open, as HTML, in which Pandoc reads text as Markdown."""
    claim, verdict = entry.claim, entry.outcome.partition(",")[0]
    return (
        f"<strong>{claim.id}</strong> "
        f'<span class="verdict verdict-{verdict}">{entry.outcome}</span> '
        f"{escape(claim.says[:1].upper() + claim.says[1:])}"
    )


def _sentence(text: str) -> str:
    """Plain text as Markdown, with a capital and a full stop."""
    return escape(text[:1].upper() + text[1:].rstrip(".")) + "."


def _claimed(claim: Claim) -> str:
    """What the lesson says, as the judge takes it."""
    relation = {"equals": "", "within_error": ""}.get(
        claim.comparison, claim.comparison.replace("_", " ") + " "
    )
    if claim.range:
        said = f"between {plain(claim.range[0])} and {plain(claim.range[1])}"
    elif claim.printed:
        rounded = f", rounded to {claim.rounded_to}" if claim.rounded_to else ""
        said = escape(f"{relation}{claim.printed}{rounded}, as printed")
    elif claim.value is not None:
        said = f"{relation}{plain(claim.value)}"
    else:
        return f"Kind: {claim.kind}."
    return f"Claimed: {said}. Kind: {claim.kind}."


def _page_link(claim: Claim) -> str | None:
    return f"[the page on {escape(claim.page)}]({claim.page}.qmd)" if claim.page in PAGES else None


PAGES = frozenset({"index", "method", *(entry.page for entry in FIGURES.values())})
"""Pages to which a claim may point."""


def _verdict_table(entry: _Entry, rows: _RowFinder) -> str:
    lines = []
    for record in entry.verdicts:
        address = rows.address(record)
        value = (
            with_error(record["value"], record["stderr"]) if pd.notna(record["value"]) else NOTHING
        )
        method = "" if pd.isna(record["method"]) else str(record["method"])
        lines.append(
            [
                escape(_backend(record)) or NOTHING,
                escape(method) or NOTHING,
                f"[{value}]({address})" if address else value,
                plain(record["exact"], 9) if pd.notna(record["exact"]) else NOTHING,
                _accepted(record),
                badge(record["verdict"], outcome_of_row(record["verdict"], record["expected"])),
            ]
        )
    headers = ["Measured by", "Method", "Value", "Exact", "Accepted", "Verdict"]
    return table(headers, "llrrll", lines)


def _reasons(records: list[dict[str, Any]]) -> str:
    """Why the verdicts are what they are: a sentence for each, those that are alike once."""
    who: dict[str, list[str]] = {}
    for record in records:
        who.setdefault(record["sentence"], []).append(_backend(record))
    if len(who) == 1:
        return escape(next(iter(who)))
    return "\n".join(f"- {listing(names)}: {escape(sentence)}" for sentence, names in who.items())


def _accepted(record: dict[str, Any]) -> str:
    low, high = (None if pd.isna(record[end]) else plain(record[end]) for end in ("low", "high"))
    if low is None and high is None:
        return NOTHING
    if low is None:
        return f"up to {high}"
    return f"from {low}" if high is None else f"{low} to {high}"


class _RowFinder:
    """Where on the page of measurements the row stands that a verdict was found on."""

    def __init__(self, measurements: pd.DataFrame) -> None:
        self._records: dict[tuple[str, str], list[dict[str, Any]]] = {}
        measured = measurements[measurements["value"].notna()]
        for record in plain_rows(measured):
            key = (record["experiment"], record["quantity"])
            self._records.setdefault(key, []).append(record)

    def address(self, verdict: dict[str, Any]) -> str | None:
        """Link target of the verdict's row; None where it stands on no single row."""
        if pd.isna(verdict["backend"]):
            return None
        wanted = json.loads(verdict["where"])
        wanted |= {name: verdict[name] for name in ("backend", "device", "dtype", "method")}
        for record in self._records.get((verdict["experiment"], verdict["quantity"]), []):
            if all(record[name] == value for name, value in wanted.items()):
                return f"measurements.qmd#{anchor(record['experiment'], record)}"
        return None
