"""The tables on the page about attention as a computation: kernels, memory, time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from attention_scaling.figures.slices import BACKEND_NAMES, Tables, kernel_errors, whole
from attention_scaling.figures.wording import (
    KERNEL_WORDS,
    VERSION_WORDS,
    percent,
    plain,
    short,
)
from attention_scaling.site.markdown import escape, table

NOTHING = "–"
NOT_MEASURED = "not measured in this study"
MEBIBYTE = 2**20


def attention_tables(tables: Tables) -> dict[str, str]:
    """Markdown of each table of the page, by its label."""
    return {
        "kernels": _kernels(tables),
        "memory": _memory(tables),
        "cost": _cost(tables),
    }


def _kernels(tables: Tables) -> str:
    """A row for each way and device: its largest error in each dtype, or why it did not run."""
    rows = kernel_errors(tables.measurements)
    dtypes = [
        dtype for dtype in ("float32", "bfloat16", "float16") if (rows["dtype"] == dtype).any()
    ]
    lines = []
    for device in sorted(rows["device"].unique()):
        for way, words in KERNEL_WORDS.items():
            mine = rows[(rows["variant"] == way) & (rows["device"] == device)]
            if not len(mine):
                continue
            largest = mine.groupby("dtype")["value"].max()
            reasons = mine["skipped"].dropna().unique()
            name = words if device == "cpu" else f"{words} ({device})"
            errors = [_number(largest.get(dtype)) for dtype in dtypes]
            lines.append([name, *errors, escape(reasons[0]) if len(reasons) else ""])
    return table(
        ["Way", *(f"`{dtype}`" for dtype in dtypes), "Not run because"],
        "l" + "r" * len(dtypes) + "l",
        lines or [[NOT_MEASURED, ""]],
        caption="Largest relative error of output and gradients, by way and dtype",
        label="kernels",
    )


def _number(value: object) -> str:
    return NOTHING if value is None or pd.isna(value) else plain(float(value), 2)


def _memory(tables: Tables) -> str:
    """A row for each number of positions: peaks and what is kept, over whole matrices and in blocks."""
    rows = tables.rows("memory").sort_values(["backend", "device"])
    moments = [("peak_bytes", "forward"), ("kept_bytes", ""), ("peak_bytes", "backward")]
    lines = [
        [
            str(n_keys),
            *(
                _first(
                    records, quantity, variant, moment, lambda row: plain(row.value / MEBIBYTE, 3)
                )
                for variant in VERSION_WORDS
                for quantity, moment in moments
            ),
        ]
        for n_keys in whole(rows, "n_keys")
        for records in [_records(rows[rows["n_keys"] == n_keys])]
    ]
    return table(
        [
            "$T$",
            "forward",
            "kept",
            "backward",
            *(f"{name}, blocks" for name in ("forward", "kept", "backward")),
        ],
        "r" * 7,
        lines or [[NOTHING, NOT_MEASURED, *[NOTHING] * 5]],
        caption="Peak of each pass and what is kept between them, in MiB: over whole matrices, and in blocks",
        label="memory",
    )


def _cost(tables: Tables) -> str:
    """A row for each backend and cell: the ratio as timed, and what bends it."""
    rows = tables.rows("cost")
    lines = []
    for (backend, device, n_keys, d_k), mine in rows.groupby(
        ["backend", "device", "n_keys", "d_k"]
    ):
        records = _records(mine)
        lines.append(
            [
                BACKEND_NAMES[backend, device],
                f"{n_keys:g}",
                f"{d_k:g}",
                _first(records, "time_ratio", "plain", "", _timed),
                _first(records, "product_ratio", "plain", "", _timed),
                _first(records, "outside_share", "plain", "forward", _share),
                _first(records, "outside_share", "plain", "backward", _share),
                _first(records, "time_ratio", "tiled", "", _timed),
            ]
        )
    return table(
        [
            "",
            "$T$",
            "$d_k$",
            "ratio",
            "products",
            "rest, forward",
            "rest, backward",
            "ratio, blocks",
        ],
        "lrrrrrrr",
        lines or [[NOT_MEASURED, *[NOTHING] * 7]],
        caption="Time of the backward pass over that of the forward pass, the same of their matrix products, "
        "and the share of each pass that its products do not take",
        label="cost",
    )


def _records(rows: pd.DataFrame) -> dict[tuple[str, str, str], Any]:
    """Rows by quantity, variant and cell: of several devices the first."""
    found: dict[tuple[str, str, str], Any] = {}
    for row in rows.fillna({"cell": ""}).itertuples():
        found.setdefault((row.quantity, row.variant, row.cell), row)
    return found


def _first(
    records: dict[tuple[str, str, str], Any],
    quantity: str,
    variant: str,
    cell: str,
    show: Callable[[Any], str],
) -> str:
    row = records.get((quantity, variant, cell))
    return NOTHING if row is None else show(row)


def _timed(row: Any) -> str:
    return short(row.value)


def _share(row: Any) -> str:
    return f"{percent(row.value, 0)} %"
