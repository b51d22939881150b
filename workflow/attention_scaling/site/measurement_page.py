"""Every measurement of a study as a page: a row a cell and method, the backends side by side.

The tables are HTML, since Markdown tables of this size take seconds to parse; Quarto is told to leave them be.
"""

from __future__ import annotations

import html
import re
from collections.abc import Hashable, Iterator
from typing import Any

import pandas as pd

from attention_scaling.experiments import REGISTRY as EXPERIMENTS
from attention_scaling.figures.slices import BACKEND_NAMES, distances
from attention_scaling.figures.wording import count, in_html, plain, with_error
from attention_scaling.site.markdown import escape
from attention_scaling.tables import CELL, EXACT_METHODS, plain_rows

_KEY = ["quantity", *CELL, "dtype", "method"]

_SHORT_NAMES = {"d_k": "d", "n_keys": "n", "rho": "r", "step": "s"}


def anchor(experiment: str, labels: dict[str, Any]) -> str:
    """The id of the row of a cell: `labels` are the columns of the measurement table that name it."""
    parts = [experiment, str(labels["quantity"])]
    for column in CELL:
        value = labels.get(column)
        if value is not None:
            text = f"{value:g}" if column in _SHORT_NAMES else str(value)
            parts.append(_SHORT_NAMES.get(column, "") + text)
    if labels["dtype"] != "float64":
        parts.append(str(labels["dtype"]))
    parts.append(str(labels["method"]))
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(parts))


def page(measurements: pd.DataFrame) -> str:
    """The body of the page: a section for each experiment."""
    by_experiment = dict(tuple(measurements.groupby("experiment")))
    # Pages link to the section of any experiment, whether a study ran it or not.
    experiments = sorted({*EXPERIMENTS, *by_experiment})
    parts = [", ".join(f"[{escape(name)}](#{name})" for name in experiments) + ".\n"]
    for experiment in experiments:
        parts.append(f"## {escape(experiment)} {{#{experiment}}}\n")
        if experiment not in by_experiment:
            parts.append("This study did not run it.\n")
            continue
        rows = by_experiment[experiment]
        skipped = rows[rows["skipped"].notna()]
        for reason, those in skipped.groupby("skipped"):
            where = those[["backend", "device"]].drop_duplicates().itertuples(index=False)
            names = ", ".join(BACKEND_NAMES.get(tuple(pair), " ".join(pair)) for pair in where)
            parts.append(f"Not measured on {names}: {escape(str(reason))} (rows: {len(those)}).\n")
        measured = rows[rows["value"].notna()]
        if len(measured):
            parts.append(_table(experiment, measured))
    return "\n".join(parts)


def _table(experiment: str, rows: pd.DataFrame) -> str:
    cell_columns = [column for column in CELL if rows[column].notna().any()]
    pairs = sorted(set(zip(rows["backend"], rows["device"], strict=True)))
    sampled = ~rows["method"].isin(EXACT_METHODS)
    backends = [
        pair
        for pair in pairs
        if (sampled & (rows["backend"] == pair[0]) & (rows["device"] == pair[1])).any()
    ]
    with_dtype = (rows["dtype"] != "float64").any()
    heads = ["quantity", *cell_columns, *(["dtype"] if with_dtype else []), "method", "samples"]
    heads += [BACKEND_NAMES.get(pair, " ".join(pair)) for pair in backends]
    heads += ["exact", "distance"]
    lines = [
        # In a division a wide table scrolls by itself.
        "::: {.measurements}",
        "```{=html}",
        '<table data-quarto-disable-processing="true">',
        "<thead><tr>",
        "".join(f"<th>{html.escape(head)}</th>" for head in heads),
        "</tr></thead>",
        "<tbody>",
        *_rows(experiment, rows, cell_columns, backends, with_dtype),
        "</tbody>",
        "</table>",
        "```",
        ":::",
        "",
    ]
    return "\n".join(lines)


def _rows(
    experiment: str,
    rows: pd.DataFrame,
    cell_columns: list[str],
    backends: list[tuple[str, str]],
    with_dtype: bool,
) -> Iterator[str]:
    groups: dict[Hashable, list[dict[str, Any]]] = {}
    for record in plain_rows(rows.assign(distance=distances(rows))):
        groups.setdefault(tuple(map(record.__getitem__, _KEY)), []).append(record)
    for same_cell in groups.values():
        first = same_cell[0]
        by_backend = {(record["backend"], record["device"]): record for record in same_cell}
        cells = [first["quantity"]]
        cells += ["" if first[column] is None else _label(first[column]) for column in cell_columns]
        cells += [first["dtype"]] if with_dtype else []
        cells += [
            first["method"],
            "" if first["samples"] is None else count(first["samples"]),
        ]
        exact_row = first["method"] in EXACT_METHODS
        for pair in backends:
            record = None if exact_row else by_backend.get(pair)
            cells.append("" if record is None else with_error(record["value"], record["stderr"]))
        theory = first["value"] if exact_row else first["theory"]
        cells.append("" if theory is None else plain(theory, 9))
        cells.append(_distances(same_cell))
        row_id = anchor(experiment, first)
        head, *others = (html.escape(str(cell)) for cell in cells)
        texts = "".join(f"<td>{text}</td>" for text in others)
        # The stylesheet marks the row that holds the target of a link.
        yield in_html(f'<tr><td id="{row_id}">{head}</td>{texts}</tr>')


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _distances(same_cell: list[dict[str, Any]]) -> str:
    """Distance of each backend's value from the exact one, in standard errors, where that is known."""
    ordered = sorted(same_cell, key=lambda record: (record["backend"], record["device"]))
    known = [record["distance"] for record in ordered if record["distance"] is not None]
    return ", ".join(f"{distance:+.1f}".replace("-", "−") for distance in known)
