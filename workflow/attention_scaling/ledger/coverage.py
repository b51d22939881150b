"""Whether every numeral of a lesson's text is accounted for: by a claim, or by a reason why it claims nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from attention_scaling.errors import UserError
from attention_scaling.ledger.models import Coverage, Lesson
from attention_scaling.ledger.numerals import Numeral, canonical, numerals


@dataclass(frozen=True)
class Account:
    """A lesson's numerals, counted.

    `open` are the numerals that nothing accounts for; `stray` are parts of the ledger file that name a
    numeral or a line which the text does not have.
    """

    counts: Coverage
    open: list[Numeral]
    stray: list[str]


def read_text(lesson: Lesson, folder: Path) -> str:
    """The text of a lesson; `UserError` where it cannot be read."""
    path = folder / lesson.file
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}: the text of lesson {lesson.lesson} cannot be read; "
            "its name is the ledger file's `file`, its folder the config's `lessons_dir`"
        ) from error


def account(lesson: Lesson, text: str) -> Account:
    """Hold each numeral of `text` against the claims and the `no_claim` entries of its line.

    A numeral that both name counts as claimed.
    """
    found = numerals(text, lesson.formulas_twice)
    present = Counter(found)
    lines = text.count("\n") + 1
    claimed: set[Numeral] = set()
    dismissed: set[Numeral] = set()
    stray: list[str] = []
    for item in lesson.claims:
        for wanted in item.accounted:
            matching = {
                Numeral(line, canonical(wanted)) for line in [item.line, *item.also]
            } & present.keys()
            if not matching:
                stray.append(f"{item.id}: {wanted} is not on line {item.line}")
            claimed |= matching
    for entry in lesson.no_claim:
        here = {numeral for numeral in present if numeral.line in entry.lines}
        label = f"no_claim, {entry.why!r}"
        if max(entry.lines) > lines:
            stray.append(f"{label}: the text has {lines} lines, not {max(entry.lines)}")
        if entry.numerals is None:
            dismissed |= here
            continue
        wanted_texts = {canonical(wanted) for wanted in entry.numerals}
        for line in entry.lines:
            for wanted in sorted(wanted_texts):
                if Numeral(line, wanted) not in present:
                    stray.append(f"{label}: {wanted} is not on line {line}")
        dismissed |= {numeral for numeral in here if numeral.text in wanted_texts}
    open_numerals = [n for n in found if n not in claimed and n not in dismissed]
    counts = Coverage(
        numerals=len(found),
        claimed=sum(n in claimed for n in found),
        no_claim=sum(n in dismissed and n not in claimed for n in found),
    )
    return Account(counts, open_numerals, stray)


def report(lessons: Iterable[Lesson], folder: Path) -> str:
    """One line for each lesson, and one for each numeral or entry that is amiss."""
    lines = []
    for lesson in lessons:
        result = account(lesson, read_text(lesson, folder))
        counts = result.counts
        accounted = counts.claimed + counts.no_claim
        lines.append(
            f"{lesson.lesson}: {accounted} of {counts.numerals} numerals accounted for, "
            f"{counts.claimed} by a claim, {counts.no_claim} with a reason why they claim nothing"
        )
        lines += [f"  open: line {numeral.line}: {numeral.text}" for numeral in result.open]
        lines += [f"  stray: {problem}" for problem in result.stray]
        if lesson.coverage != counts:
            lines.append(f"  the ledger file should say {_flow(counts)}")
    return "\n".join(lines)


def complete(lessons: Iterable[Lesson], folder: Path) -> bool:
    """Whether every lesson's numerals are accounted for and its file's counts are those of its text."""
    results = [(lesson, account(lesson, read_text(lesson, folder))) for lesson in lessons]
    return all(
        not result.open and not result.stray and lesson.coverage == result.counts
        for lesson, result in results
    )


def suggest(lesson: Lesson, text: str) -> str:
    """The numerals without an entry, as `claims` entries to complete and paste into the ledger file."""
    result = account(lesson, text)
    content = text.split("\n")
    entries = []
    for line in sorted({numeral.line for numeral in result.open}):
        texts = list(dict.fromkeys(n.text for n in result.open if n.line == line))
        entries.append(f"  # line {line}: {content[line - 1].strip()[:200]}")
        for count, text in enumerate(texts, start=1):
            entry = {
                "id": f"L{line}-{count}",
                "line": line,
                "says": "what the lesson claims, in your own words",
                "kind": "exact",
                "numerals": [text],
                "skipped": "not looked at yet",
            }
            item = yaml.safe_dump(entry, sort_keys=False, default_flow_style=None)
            entries.append("  - " + item.rstrip().replace("\n", "\n    "))
    return "\n".join(["claims:", *entries]) if entries else "# every numeral has an entry"


def _flow(counts: Coverage) -> str:
    inner = ", ".join(f"{name}: {value}" for name, value in counts.model_dump().items())
    return f"coverage: {{{inner}}}"
