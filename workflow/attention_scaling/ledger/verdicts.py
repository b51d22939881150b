"""The verdict table on disk."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa

from attention_scaling.ledger.judging import VERDICT_COLUMNS
from attention_scaling.tables import read_frame, write_frame

_ARROW = {"string": pa.string(), "Int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}

VERDICT_SCHEMA = pa.schema({name: _ARROW[kind] for name, kind in VERDICT_COLUMNS.items()})


def write_verdicts(verdicts: pd.DataFrame, path: Path) -> None:
    """Write the table of verdicts as Parquet at `path` and as CSV beside it."""
    write_frame(verdicts, path, VERDICT_SCHEMA)


def read_verdicts(path: Path) -> pd.DataFrame:
    """The table of verdicts at `path`."""
    return read_frame(path, VERDICT_SCHEMA).astype(VERDICT_COLUMNS)


def summary(verdicts: pd.DataFrame) -> str:
    """How many claims and verdicts there are, and how many of each kind, in one line."""
    counts = verdicts["verdict"].value_counts()
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{verdicts['claim'].nunique()} claims, {len(verdicts)} verdicts: {kinds}"
