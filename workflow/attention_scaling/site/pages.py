"""What the pages are made from: variables, generated parts and downloads, written beside the pages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attention_scaling.atomic import atomic_path, write_text
from attention_scaling.errors import UserError
from attention_scaling.figures.slices import Tables
from attention_scaling.ledger.models import Lesson
from attention_scaling.site import measurement_page, variables
from attention_scaling.site.bench_page import bench_part
from attention_scaling.site.ledger_pages import ledger_parts
from attention_scaling.site.provenance_page import provenance_parts
from attention_scaling.site.tables import page_tables

DOWNLOADS = ("measurements", "timings", "verdicts")
"""Tables that readers can download, as CSV and Parquet."""


def write(
    tables: Tables,
    lessons: Sequence[Lesson],
    provenance: Mapping[str, Any],
    results: Path,
    benchmarks: Path,
    reports: Path,
) -> None:
    """Write `_variables.yml` and `_generated/` under `reports`; copy the tables from `results` for download.

    `benchmarks` is the table that `make bench` keeps. Figures are written by
    `attention_scaling.figures.writing`. Raises `UserError` where a file cannot be read or written.
    """
    variables.write(reports / "_variables.yml", variables.variables(tables, provenance))
    parts = {
        **{f"tbl-{label}": text for label, text in page_tables(tables).items()},
        **ledger_parts(lessons, tables.verdicts, tables.measurements),
        **provenance_parts(provenance),
        "measurements": measurement_page.page(tables.measurements),
        "bench": bench_part(benchmarks),
    }
    for name, text in parts.items():
        write_text(reports / "_generated" / f"{name}.md", text)
    downloads = reports / "_generated" / "downloads"
    for name in DOWNLOADS:
        for suffix in (".csv", ".parquet"):
            _copy(results / f"{name}{suffix}", downloads)
    write_text(
        downloads / "provenance.json", json.dumps(provenance, indent=1, sort_keys=True) + "\n"
    )


def read_provenance(path: Path) -> dict[str, Any]:
    """The provenance that `collect` wrote at `path`; `UserError` where it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); collect the tables again") from error


def _copy(source: Path, folder: Path) -> None:
    if not source.is_file():
        raise UserError(f"{source}: no such file; collect and judge the tables first")
    with atomic_path(folder / source.name) as temporary:
        shutil.copyfile(source, temporary)
