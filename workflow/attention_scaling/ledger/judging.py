"""Verdicts: every claim of the ledger against the measurement table.

A claim is judged once for each backend, device, dtype and method that measured it. The verdicts:

- reproduced: equal as far as the claim says (its printed decimals, or the rounding of the dtype);
- consistent: no difference beyond sampling error;
- differs: a difference, expected where the ledger explains it;
- inconclusive: the measurement's own error is too large to tell;
- cited, skipped: not judged, with the source or the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from attention_scaling.errors import UserError
from attention_scaling.ledger.findings import find
from attention_scaling.ledger.models import Claim, Lesson
from attention_scaling.ledger.queries import Measurements, NotMeasuredError

VERDICT_COLUMNS = {
    "claim": "string",
    "lesson": "string",
    "line": "Int64",
    "kind": "string",
    "says": "string",
    "printed": "string",
    "backend": "string",
    "device": "string",
    "dtype": "string",
    "method": "string",
    "verdict": "string",
    "expected": "bool",
    "value": "float64",
    "stderr": "float64",
    "exact": "float64",
    "low": "float64",
    "high": "float64",
    "percentile": "float64",
    "sentence": "string",
    "explanation": "string",
    "experiment": "string",
    "quantity": "string",
    "where": "string",
    "figure": "string",
    "page": "string",
}
"""The columns of the table of verdicts and their pandas types.

`low` and `high` bound the accepted values, `percentile` (0 to 100) is where the claimed number falls among
single runs of the lesson's design, `where` is the query's cell as JSON.
"""


def judge(
    lessons: Iterable[Lesson], measurements: pd.DataFrame, *, missing: str = "refuse"
) -> pd.DataFrame:
    """The verdicts on all claims of `lessons`, with the columns of `VERDICT_COLUMNS`.

    A claim about a cell that `measurements` lacks raises `UserError`. With `missing="skip"`, for a study that
    leaves out experiments or cells, it is skipped, and the sentence says what is missing.
    """
    table = Measurements(measurements)
    records = [
        record
        for lesson in lessons
        for claim in lesson.entries
        for record in _records(lesson, claim, table, missing)
    ]
    return pd.DataFrame(records, columns=list(VERDICT_COLUMNS)).astype(VERDICT_COLUMNS)


def unexpected(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The verdicts that make a run fail: differences not explained, and explained ones that are gone."""
    return verdicts[~verdicts["expected"]]


def _records(
    lesson: Lesson, claim: Claim, table: Measurements, missing: str
) -> Iterator[dict[str, Any]]:
    record = _claim_columns(lesson, claim)
    if claim.kind == "cited":
        yield record | {"verdict": "cited", "sentence": f"Not measured here. Source: {claim.cited}"}
        return
    if claim.skipped:
        yield record | {"verdict": "skipped", "sentence": f"Not measured: {claim.skipped}"}
        return
    try:
        observations = table.observations(claim)
    except NotMeasuredError as reason:
        if missing != "skip":
            raise UserError(
                f"ledger: {claim.id}.measure: {reason} (unmatched_claims: skip passes over it)"
            ) from reason
        yield record | {"verdict": "skipped", "sentence": f"Not measured: {reason}."}
        return
    for observation in observations:
        if observation.observed is None:
            found = {"verdict": "skipped", "sentence": f"Not measured: {observation.reason}"}
        else:
            finding = find(claim, observation.observed)
            found = {
                "verdict": finding.verdict,
                "expected": _expected(claim, finding.verdict),
                "value": observation.observed.value,
                "stderr": observation.observed.stderr,
                "exact": observation.observed.exact,
                "low": finding.low,
                "high": finding.high,
                "percentile": finding.percentile,
                "sentence": finding.sentence,
            }
        yield record | observation.measured_by | found


def _expected(claim: Claim, verdict: str) -> bool:
    return verdict == "inconclusive" or (verdict == "differs") == (claim.differs is not None)


def _claim_columns(lesson: Lesson, claim: Claim) -> dict[str, Any]:
    columns = dict.fromkeys(VERDICT_COLUMNS) | {
        "claim": claim.id,
        "lesson": lesson.lesson,
        "line": claim.line,
        "kind": claim.kind,
        "says": claim.says,
        "printed": claim.printed,
        "expected": True,
        "explanation": claim.differs or claim.note,
        "figure": claim.figure,
        "page": claim.page,
    }
    if claim.measure:
        columns |= {
            "experiment": claim.measure.experiment,
            "quantity": claim.measure.quantity,
            "where": json.dumps(claim.measure.where.conditions()),
        }
    return columns
