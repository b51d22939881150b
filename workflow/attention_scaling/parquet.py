"""Reading and writing Parquet: whole files or none, and one line on a file that cannot be read.

Job files are written with pyarrow alone, because importing pandas costs a short job more than its work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attention_scaling.atomic import atomic_path
from attention_scaling.errors import UserError


def write(
    path: Path, rows: Iterable[Mapping[str, Any]], schema: pa.Schema, metadata: dict[bytes, bytes]
) -> None:
    """Write `rows` under `schema`, with `metadata` in the file's own, whole or not at all.

    Rows are dictionaries with a key for every column. Raises `UserError` when the file cannot be written.
    """
    table = pa.Table.from_pylist(list(rows), schema=schema.with_metadata(metadata))
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read(path: Path, schema: pa.Schema) -> pa.Table:
    """The table at `path`; `UserError` where it is missing, damaged or has other columns."""
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{path}: not a readable Parquet file ({reason}); delete it and run again"
        ) from error
    if not table.schema.equals(schema):
        raise UserError(
            f"{path}: its columns are not those of this version; delete it and run again"
        )
    return table
