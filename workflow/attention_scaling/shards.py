"""The files that experiment jobs leave: measurements, and moments that are still to be merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import pyarrow as pa

from attention_scaling import parquet, provenance
from attention_scaling.errors import UserError
from attention_scaling.measurement import Measurement
from attention_scaling.moments import Moments, merge
from attention_scaling.tables import MEASUREMENT_SCHEMA

SHARD_SCHEMA = pa.schema(
    [
        *MEASUREMENT_SCHEMA,
        pa.field("run", pa.int64()),
        pa.field("run_rows", pa.int64()),
        pa.field("run_mean", pa.float64()),
        pa.field("run_m2", pa.float64()),
    ]
)

_FACTS_KEY = b"job"


@dataclass(frozen=True)
class ShardRow:
    """A measurement, or (with `run`) one run of blocks towards a measurement that comes by merging."""

    measurement: Measurement
    run: int | None = None
    moments: Moments | None = None


def write(path: Path, rows: Iterable[ShardRow], clock: provenance.JobClock) -> None:
    """Write one job's rows, and the facts about the job beside them in the same file."""

    def record(row: ShardRow) -> dict:
        moments = row.moments
        # A measurement holds plain values, of which `asdict` would make deep copies.
        return vars(row.measurement) | {
            "run": row.run,
            "run_rows": moments.count if moments else None,
            "run_mean": moments.mean if moments else None,
            "run_m2": moments.m2 if moments else None,
        }

    records = [record(row) for row in rows]
    facts = provenance.encode(clock.facts())
    parquet.write(path, records, SHARD_SCHEMA, {_FACTS_KEY: facts})


def read(path: Path) -> tuple[list[ShardRow], provenance.JobFacts]:
    """The rows of one job's file, and the facts about the job."""
    table = parquet.read(path, SHARD_SCHEMA)
    try:
        facts = provenance.decode((table.schema.metadata or {})[_FACTS_KEY])
    except (KeyError, ValueError) as error:
        raise UserError(
            f"{path}: does not say, as this version's files do, which job it is of; delete it and run again"
        ) from error
    return list(_rows(table)), facts


def _rows(table: pa.Table) -> Iterator[ShardRow]:
    names = [field.name for field in fields(Measurement)]
    for record in table.to_pylist():
        measurement = Measurement(**{name: record[name] for name in names})
        moments = None
        if record["run"] is not None:
            moments = Moments(record["run_rows"], record["run_mean"], record["run_m2"])
        yield ShardRow(measurement, record["run"], moments)


def merged(rows: Iterable[ShardRow]) -> list[Measurement]:
    """All measurements, each statistic's runs merged in the order of their numbers.

    The rows may come in any order and from any number of shards; the result is the same to the last bit. Raises
    `UserError` where a run comes twice, as from shards of which two were counted otherwise.
    """
    whole: list[Measurement] = []
    runs: dict[Measurement, list[tuple[int, Moments]]] = {}
    for row in rows:
        if row.run is None:
            whole.append(row.measurement)
        else:
            runs.setdefault(row.measurement, []).append((row.run, row.moments))
    for labels, parts in runs.items():
        numbers = [number for number, _ in parts]
        if len(set(numbers)) != len(numbers):
            raise UserError(
                f"{labels.experiment}, {labels.backend} on {labels.device}: some files hold the same samples of "
                f"{labels.quantity}: allowed is each of the shards 0/N to (N - 1)/N once"
            )
        total = merge(_in_order(parts))
        # A single row has no spread to take a standard error from.
        stderr = total.stderr if total.count > 1 else None
        whole.append(replace(labels, samples=total.count, value=total.mean, stderr=stderr))
    return whole


def _in_order(parts: Sequence[tuple[int, Moments]]) -> Iterator[Moments]:
    return (moments for _, moments in sorted(parts, key=lambda part: part[0]))
