"""Join the files of all jobs into the measurement table."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from attention_scaling import experiments, shards
from attention_scaling.errors import UserError
from attention_scaling.measurement import Measurement
from attention_scaling.provenance import Process, write_study
from attention_scaling.settings import Config
from attention_scaling.tables import CELL, EXACT_METHODS, MEASUREMENT_SCHEMA, write_measurements


def collect(config: Config, files: Iterable[Path], output: Path) -> pd.DataFrame:
    """Merge the shards in `files`, add what derives from them and the exact values, and write the table.

    Rows are sorted by their labels, so the table does not depend on the order of the files. Beside it go
    `timings.parquet`, with what differs from run to run, and `provenance.json`, the facts about the study and all
    its jobs. Raises `UserError` for a file of another study, and for files that hold the same samples.
    """
    digest = functools.cache(config.digest)
    by_experiment: dict[str, list[shards.ShardRow]] = {}
    jobs = []
    for path in files:
        rows, facts = shards.read(path)
        if facts.settings != digest(facts.experiment):
            raise UserError(
                f"{path}: was measured with another seed or other settings of {facts.experiment} than "
                f"{config.path} has; delete it and run again"
            )
        jobs.append((facts, Process.of(path)))
        by_experiment.setdefault(facts.experiment, []).extend(rows)
    measurements: list[Measurement] = []
    for name, rows in by_experiment.items():
        merged = shards.merged(rows)
        derive = getattr(experiments.get(name).module(), "derive", None)
        if derive is not None:
            merged += derive(config.experiment(name), merged)
        measurements += merged
    if not measurements:
        raise UserError(f"{output}: no measurements in the job files given")
    table = pd.DataFrame([vars(measurement) for measurement in measurements])
    table = _typed(table)
    table = _with_theory(table).sort_values(
        [*MEASUREMENT_SCHEMA.names[:11], "cell", "variant", "step"], ignore_index=True
    )
    write_measurements(table, output)
    write_study(output.with_name("provenance.json"), config.path, config.study.seed, jobs)
    return table


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """The nullable types that reading the written table gives."""
    import pyarrow as pa

    kinds = {pa.string(): "string", pa.int64(): "Int64", pa.float64(): "float64"}
    return table.astype({field.name: kinds[field.type] for field in MEASUREMENT_SCHEMA})


def _with_theory(table: pd.DataFrame) -> pd.DataFrame:
    """Fill `theory` of every row whose quantity and cell an exact method has the value of."""
    keys = ["experiment", "quantity", *CELL]
    exact = table[table["method"].isin(EXACT_METHODS) & table["value"].notna()]
    exact = exact.drop_duplicates(keys)[[*keys, "value"]].rename(columns={"value": "exact"})
    known = table.merge(exact, on=keys, how="left")["exact"]
    return table.assign(theory=table["theory"].fillna(known.set_axis(table.index)))
