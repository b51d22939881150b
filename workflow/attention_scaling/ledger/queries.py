"""Ledger queries answered from the measurement table."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from attention_scaling.errors import UserError
from attention_scaling.ledger.findings import Observed
from attention_scaling.ledger.models import Claim, Query, Where

MEASURED_BY = ["backend", "device", "dtype", "method"]
"""The columns that say what measured a row; a claim gets a verdict for each."""

_RUN = re.compile(r"rows=(\d+) q([0-9.]+)")


class NotMeasuredError(Exception):
    """No measurement answers a claim; the message says what is missing."""


class Measurements:
    """The measurement table, cut by experiment and quantity."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._tables = dict(tuple(table.groupby(["experiment", "quantity"], sort=False)))

    def rows(self, query: Query) -> pd.DataFrame:
        """The rows that answer `query`; `NotMeasuredError` where there are none."""
        if not any(experiment == query.experiment for experiment, _ in self._tables):
            raise NotMeasuredError(f"the experiment {query.experiment} was not run")
        table = self._tables.get((query.experiment, query.quantity))
        if table is None:
            raise NotMeasuredError(f"{query.experiment} measured no {query.quantity}")
        conditions = query.where.conditions()
        for column, wanted in conditions.items():
            table = table[_equal(table[column], wanted)]
        if table.empty:
            raise NotMeasuredError(
                f"{query.experiment} measured {query.quantity} in no cell with {query.where.words()}"
            )
        return table

    def observations(self, claim: Claim) -> list[Observation]:
        """What each backend, device, dtype and method measured of a claim.

        Raises `NotMeasuredError` where nothing did, and `UserError` where the claim's query leaves open which of
        several rows it means.
        """
        rows, *divisors = [self._by_backend(claim, query) for query in claim.queries]
        found = []
        for measured_by, row in rows.items():
            labels = dict(zip(MEASURED_BY, measured_by, strict=True))
            cells = [row, *(divisor.get(measured_by) for divisor in divisors)]
            if any(cell is None for cell in cells):
                reason = "this backend lacks the cell that the ratio divides by"
                found.append(Observation(labels, reason=reason))
                continue
            reasons = [cell["skipped"] for cell in cells if pd.notna(cell["skipped"])]
            if reasons:
                found.append(Observation(labels, reason=reasons[0]))
                continue
            observed = _quotient(*map(_observed, cells))
            if claim.single_run:
                observed.runs.update(self._runs(claim, measured_by))
            found.append(Observation(labels, observed))
        return found

    def _by_backend(self, claim: Claim, query: Query) -> dict[tuple[str, ...], pd.Series]:
        groups = {}
        for measured_by, group in self.rows(query).groupby(MEASURED_BY, sort=True):
            if len(group) > 1:
                columns = [c for c in Where.model_fields if group[c].nunique(dropna=False) > 1]
                raise UserError(
                    f"ledger: {claim.id}.measure.where: {len(group)} rows of {query.experiment}, "
                    f"{query.quantity} match: say which {' and '.join(columns)}"
                )
            groups[measured_by] = group.iloc[0]
        return groups

    def _runs(self, claim: Claim, measured_by: tuple[str, ...]) -> dict[int, np.ndarray]:
        """Quantiles of single runs: the variants "rows=N qP" beside the measured one."""
        labels = dict(zip(MEASURED_BY, measured_by, strict=True))
        cell = claim.measure.where.conditions() | labels
        cell.pop("variant", None)
        rows = self.rows(claim.measure.model_copy(update={"where": Where(**cell)}))
        found: dict[int, list[tuple[float, float]]] = {}
        for variant, value in zip(rows["variant"], rows["value"], strict=True):
            match = _RUN.fullmatch(variant) if isinstance(variant, str) else None
            if match:
                found.setdefault(int(match[1]), []).append((float(match[2]), float(value)))
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


def _equal(values: pd.Series, wanted: Any) -> pd.Series:
    if wanted is None:
        return values.isna()
    if isinstance(wanted, float):
        return (values.astype("float64") - wanted).abs() < 1e-12
    return (values == wanted).fillna(False).astype(bool)


def _observed(row: pd.Series) -> Observed:
    return Observed(
        value=float(row["value"]),
        stderr=float(row["stderr"]) if pd.notna(row["stderr"]) else 0.0,
        exact=float(row["theory"]) if pd.notna(row["theory"]) else None,
        dtype=row["dtype"],
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
    return Observed(value=value, stderr=stderr, exact=exact, dtype=first.dtype)
