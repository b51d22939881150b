"""The measurement table: its columns, and its checks on every write and read.

It is two files of one schema. `measurements.parquet` is bitwise the same whenever the same study runs on the same
machine; `timings.parquet` beside it has what no two runs measure alike, times and peaks of memory. They are
read as one table.

`MEASUREMENT_SCHEMA` (pyarrow) says which columns there are and of which type; job files are held to it as they
are written. Where pandas is at hand anyway, the values are checked too (pandera): known words in the columns
of words, and a value or a reason in every row.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from attention_scaling import parquet
from attention_scaling.atomic import atomic_path
from attention_scaling.backends import DEVICES, DTYPES, NAMES
from attention_scaling.divisors import DIVISORS
from attention_scaling.errors import UserError

if TYPE_CHECKING:
    import pandas as pd
    import pandera.pandas as pa_checks

TEXT, WHOLE, REAL = pa.string(), pa.int64(), pa.float64()

MEASUREMENT_SCHEMA = pa.schema(
    {
        "experiment": TEXT,
        "quantity": TEXT,
        "method": TEXT,
        "backend": TEXT,
        "device": TEXT,
        "dtype": TEXT,
        "d_k": WHOLE,
        "n_keys": WHOLE,
        "rho": REAL,
        "divisor": TEXT,
        "distribution": TEXT,
        "step": WHOLE,
        "cell": TEXT,
        "variant": TEXT,
        "samples": WHOLE,
        "value": REAL,
        "stderr": REAL,
        "theory": REAL,
        "unit": TEXT,
        "skipped": TEXT,
        "note": TEXT,
    }
)

LABELS = MEASUREMENT_SCHEMA.names[: MEASUREMENT_SCHEMA.names.index("samples")]
"""The columns that together say which quantity of which cell a row holds: no two rows share them all."""

CELL = LABELS[LABELS.index("d_k") :]
"""The columns that name a cell within an experiment."""

EXACT_METHODS = ("closed_form", "enumeration", "quadrature")
"""Methods whose values carry no sampling error."""

VARYING_METHODS = ("memory", "timing")
"""Methods that give another value each time: their rows, and what derives from them, go to `timings.parquet`."""

METHODS = (
    *EXACT_METHODS,
    *VARYING_METHODS,
    "replay",
    "direct",
    "collapsed",
    "simulation",
    "search",
    "derived",
    "arithmetic",
    "autograd",
    "counted",
    "trained",
    "skipped",
)


@functools.cache
def _checks() -> pa_checks.DataFrameSchema:
    import pandera.pandas as checks

    def words(allowed: tuple[str, ...], nullable: bool = False) -> checks.Column:
        return checks.Column(checks=checks.Check.isin(allowed), nullable=nullable)

    def at_least(bound: float) -> checks.Column:
        return checks.Column(checks=checks.Check.ge(bound), nullable=True)

    columns = {name: checks.Column(nullable=True) for name in MEASUREMENT_SCHEMA.names}
    columns |= {
        "experiment": checks.Column(),
        "quantity": checks.Column(),
        "method": words(METHODS),
        "backend": words(NAMES),
        "device": words(DEVICES),
        "dtype": words(DTYPES),
        "divisor": words(DIVISORS, nullable=True),
        "d_k": at_least(1),
        "n_keys": at_least(1),
        "rho": checks.Column(checks=checks.Check.in_range(-1, 1), nullable=True),
        "samples": at_least(1),
        "stderr": at_least(0),
    }
    value_or_reason = checks.Check(
        lambda table: table["value"].notna() != table["skipped"].notna(),
        error="a row has either a value or the reason why it has none",
    )
    return checks.DataFrameSchema(columns, checks=value_or_reason, unique=LABELS, strict=True)


def check_measurements(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """`table` itself, when every row is a valid measurement; `UserError` naming `where` otherwise."""
    import pandera.errors

    try:
        return _checks().validate(table)
    except pandera.errors.SchemaError as error:
        cases = error.failure_cases
        case = f", such as {cases['failure_case'].iloc[0]!r}" if hasattr(cases, "iloc") else ""
        column = getattr(error.schema, "name", None) or "rows"
        raise UserError(f"{where}: {column}: {error.check or error}{case}") from error


def timings_path(path: Path) -> Path:
    """Where the table of times and memory lies, for the table of measurements at `path`."""
    return path.with_name(f"timings{path.suffix}")


def write_measurements(table: pd.DataFrame, path: Path) -> None:
    """Write the checked table as Parquet at `path` and, for people, as CSV beside it.

    Times and memory go to `timings_path(path)`, which is written in any case.
    """
    table = check_measurements(table, str(path))
    varying = table["method"].isin(VARYING_METHODS)
    write_frame(table[varying], timings_path(path), MEASUREMENT_SCHEMA)
    write_frame(table[~varying], path, MEASUREMENT_SCHEMA)


def read_measurements(path: Path) -> pd.DataFrame:
    """The table at `path` together with its times and memory, checked."""
    parts = [parquet.read(part, MEASUREMENT_SCHEMA) for part in (path, timings_path(path))]
    return check_measurements(_frame(pa.concat_tables(parts)), str(path))


def write_frame(table: pd.DataFrame, path: Path, schema: pa.Schema) -> None:
    """Write a table under `schema` as Parquet at `path` and as CSV beside it."""
    import pyarrow.parquet as pq

    arrow = pa.Table.from_pandas(table, schema=schema, preserve_index=False)
    with atomic_path(path) as temporary:
        # Without the pandas metadata the bytes depend on the numbers alone.
        pq.write_table(arrow.replace_schema_metadata(None), temporary, compression="zstd")
    with atomic_path(path.with_suffix(".csv")) as temporary:
        table.to_csv(temporary, index=False)


def read_frame(path: Path, schema: pa.Schema) -> pd.DataFrame:
    """The table at `path` with nullable columns; `UserError` where it cannot be read."""
    return _frame(parquet.read(path, schema))


def plain_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as dictionaries of plain values by column, None where a row has nothing.

    Taken column by column, which is several times as fast as `to_dict`.
    """
    columns = [column.to_numpy(dtype=object, na_value=None).tolist() for _, column in table.items()]
    names = list(table.columns)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _frame(table: pa.Table) -> pd.DataFrame:
    import pandas as pd

    types = {TEXT: pd.StringDtype(), WHOLE: pd.Int64Dtype(), REAL: None, pa.bool_(): None}
    return table.to_pandas(types_mapper=types.get)
