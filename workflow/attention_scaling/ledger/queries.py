"""Ledger queries answered from the measurement table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from attention_scaling.errors import UserError
from attention_scaling.ledger.findings import Observed
from attention_scaling.ledger.models import Claim, Lesson, Query, Where
from attention_scaling.tables import plain_rows

MEASURED_BY = ["backend", "device", "dtype", "method"]
"""The columns that say what measured a row; a claim gets a verdict for each."""

UNAVAILABLE = "all"
"""The quantity of the row that says why a backend or device measured nothing at all."""

Row = dict[str, Any]
"""A row of the measurement table by column, None where it has nothing."""

_RUN = re.compile(r"rows=(\d+) q([0-9.]+)")


class NotMeasuredError(Exception):
    """No measurement answers a claim; the message says what is missing."""


def all_measured(lessons: Iterable[Lesson], table: pd.DataFrame) -> bool:
    """Whether the table has rows of the experiment and quantity of every query."""
    known = set(zip(table["experiment"], table["quantity"], strict=True))
    return all(
        (query.experiment, query.quantity) in known
        for lesson in lessons
        for claim in lesson.entries
        for query in claim.queries
    )


class Measurements:
    """The measurement table as plain rows, cut by experiment and quantity."""

    def __init__(self, table: pd.DataFrame) -> None:
        # A few hundred queries look at a few dozen rows each: plain dictionaries are much the quickest.
        self._rows: dict[str, dict[str, list[Row]]] = {}
        for row in plain_rows(table):
            self._rows.setdefault(row["experiment"], {}).setdefault(row["quantity"], []).append(row)

    def rows(self, query: Query) -> list[Row]:
        """The rows that answer `query`; `NotMeasuredError` where there are none."""
        quantities = self._rows.get(query.experiment)
        if quantities is None:
            raise NotMeasuredError(f"the experiment {query.experiment} was not run")
        if query.quantity not in quantities and UNAVAILABLE in quantities:
            return quantities[UNAVAILABLE]
        if query.quantity not in quantities:
            raise NotMeasuredError(f"{query.experiment} measured no {query.quantity}")
        conditions = query.where.conditions().items()
        found = [
            row
            for row in quantities[query.quantity]
            if all(_equal(row[column], wanted) for column, wanted in conditions)
        ]
        if not found:
            raise NotMeasuredError(
                f"{query.experiment} measured {query.quantity} in no cell with {query.where.words()}"
            )
        return found

    def observations(self, claim: Claim) -> list[Observation]:
        """What each backend, device, dtype and method measured of a claim.

        Raises `NotMeasuredError` where nothing did, and `UserError` where the claim's query leaves open which
        of several rows it means.
        """
        rows, *divisors = [self._by_backend(claim, query) for query in claim.queries]
        found = []
        for measured_by, row in sorted(rows.items()):
            labels = dict(zip(MEASURED_BY, measured_by, strict=True))
            cells = [row, *(divisor.get(measured_by) for divisor in divisors)]
            if any(cell is None for cell in cells):
                reason = "this backend lacks the cell that the ratio divides by"
                found.append(Observation(labels, reason=reason))
                continue
            reasons = [cell["skipped"] for cell in cells if cell["skipped"] is not None]
            if reasons:
                found.append(Observation(labels, reason=reasons[0]))
                continue
            observed = _quotient(*map(_observed, cells))
            if claim.single_run:
                observed.runs.update(self._runs(claim, labels))
            found.append(Observation(labels, observed))
        return found

    def _by_backend(self, claim: Claim, query: Query) -> dict[tuple[str, ...], Row]:
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows(query):
            groups.setdefault(tuple(row[column] for column in MEASURED_BY), []).append(row)
        for group in groups.values():
            if len(group) > 1:
                columns = [c for c in Where.model_fields if len({row[c] for row in group}) > 1]
                raise UserError(
                    f"ledger: {claim.id}.measure.where: {len(group)} rows of {query.experiment}, "
                    f"{query.quantity} match: say which {' and '.join(columns)}"
                )
        return {measured_by: group[0] for measured_by, group in groups.items()}

    def _runs(self, claim: Claim, labels: dict[str, str]) -> dict[int, np.ndarray]:
        """Quantiles of single runs: the variants "rows=N qP" beside the measured one."""
        cell = claim.measure.where.conditions() | labels
        cell.pop("variant", None)
        found: dict[int, list[tuple[float, float]]] = {}
        for row in self.rows(claim.measure.model_copy(update={"where": Where(**cell)})):
            match = _RUN.fullmatch(row["variant"] or "")
            if match:
                found.setdefault(int(match[1]), []).append((float(match[2]), row["value"]))
        if not found:
            raise NotMeasuredError(
                f"{claim.measure.experiment} has no rows of {claim.measure.quantity} whose variant "
                'reads "rows=N qP"'
            )
        return {size: np.array(sorted(pairs)).T for size, pairs in sorted(found.items())}


@dataclass(frozen=True)
class Observation:
    """What one backend, device, dtype and method measured of a claim, or the reason why nothing."""

    measured_by: dict[str, str]
    observed: Observed | None = None
    reason: str | None = None


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, float) and value is not None:
        return math.isclose(value, wanted, rel_tol=0, abs_tol=1e-12)
    return value == wanted


def _observed(row: Row) -> Observed:
    return Observed(
        value=row["value"],
        stderr=row["stderr"] or 0.0,
        exact=row["theory"],
        dtype=row["dtype"],
        note=row["note"],
    )


def _quotient(first: Observed, second: Observed | None = None) -> Observed:
    """The quotient of two independent measurements, its standard error to first order."""
    if second is None:
        return first
    if second.value == 0:
        return Observed(value=math.nan, stderr=0.0, exact=None, dtype=first.dtype)
    value = first.value / second.value
    stderr = math.hypot(first.stderr, value * second.stderr) / abs(second.value)
    exact = first.exact / second.exact if first.exact is not None and second.exact else None
    note = first.note or second.note
    return Observed(value=value, stderr=stderr, exact=exact, dtype=first.dtype, note=note)
