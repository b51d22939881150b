"""The tables on the experiments' pages: a few quantities over the widths, measured beside exact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from attention_scaling.divisors import DIVISORS
from attention_scaling.figures.slices import (
    BACKEND_NAMES,
    Tables,
    exact,
    one_aligned_key,
    sampled,
    shown_keys,
    whole,
    whole_heads,
)
from attention_scaling.figures.wording import DIVISOR_MARKUP, law_words, plain, with_error
from attention_scaling.site.attention_tables import attention_tables
from attention_scaling.site.markdown import table
from attention_scaling.site.training_tables import training_tables
from attention_scaling.site.values import cell_values

NOTHING = "–"


def page_tables(tables: Tables) -> dict[str, str]:
    """Markdown of each table that a page includes, by its label."""
    saturation, capacity = tables.rows("saturation"), tables.rows("capacity")
    correlation, gradient = one_aligned_key(tables), whole_heads(tables)
    correlations = sorted(rho for rho in correlation["rho"].dropna().unique() if 0 < rho < 1)
    aligned = correlation[correlation["rho"].isin(correlations[-1:])]
    rho = f", $\\rho$ = {correlations[-1]:g}" if correlations else ""
    return {
        "variance-size": _over_widths(
            tables.rows("variance", "score_size", distribution="gaussian"),
            "Typical size of the score, Gaussian entries",
            "variance-size",
        ),
        "saturation-weight": _softmax(saturation, "top_weight", "Mean largest weight"),
        "saturation-closed": _softmax(saturation, "closed_share", "Share of closed rows"),
        "capacity-trace": _softmax(capacity, "capacity", "Mean gradient capacity"),
        "correlation-score": _softmax(
            aligned, "score_mean", f"Mean score of the aligned key{rho}", label="correlation-score"
        ),
        "correlation-weight": _softmax(
            aligned,
            "aligned_weight",
            f"Mean weight of the aligned key{rho}",
            label="correlation-weight",
        ),
        "correlation-laws": _laws(tables),
        "gradient-scores": _softmax(
            gradient,
            "gradient_ratio_scores",
            "Gradient at the scores over that of the root-scaled head",
            label="gradient-scores",
        ),
        "gradient-ratio": _softmax(
            gradient,
            "gradient_ratio_query",
            "Gradient at $W_Q$ over that of the root-scaled head",
            label="gradient-ratio",
        ),
        "gradient-frozen": _softmax(
            gradient, "frozen_share", "Share of frozen queries", label="gradient-frozen"
        ),
        "precision-cutoffs": _precision(tables),
        "six-scores": _six_scores(tables),
        **attention_tables(tables),
        **training_tables(tables),
    }


LABELS = {
    "top_weight": "saturation-weight",
    "closed_share": "saturation-closed",
    "capacity": "capacity-trace",
}


def _softmax(rows: pd.DataFrame, quantity: str, what: str, *, label: str | None = None) -> str:
    n_keys = shown_keys(rows)
    rows = rows[(rows["quantity"] == quantity) & (rows["n_keys"] == n_keys)]
    keys = "" if n_keys is None else f", {n_keys} keys"
    return _over_widths(rows, f"{what}{keys}", label or LABELS[quantity])


def _over_widths(rows: pd.DataFrame, caption: str, label: str) -> str:
    """A row a width, and under each divisor what the first backend measured and what is exact."""
    shown = [divisor for divisor in DIVISORS if (rows["divisor"] == divisor).any()]
    widths = whole(rows, "d_k")
    if not shown:
        return table(
            ["$d_k$", "Value"],
            "rr",
            [[NOTHING, "not measured in this study"]],
            caption=caption,
            label=label,
        )
    with_exact = len(exact(rows)) > 0
    headers, cells = ["$d_k$"], [[str(d_k)] for d_k in widths]
    for divisor in shown:
        mine = rows[rows["divisor"] == divisor]
        headers.append(DIVISOR_MARKUP[divisor])
        columns = [_measured(mine, widths)]
        if with_exact:
            headers.append("exact")
            columns.append(_exact(mine, widths))
        for column in columns:
            for row, text in zip(cells, column, strict=True):
                row.append(text)
    measured_by = sampled(rows).sort_values(["backend", "device"])[["backend", "device"]]
    by = (
        f", measured by {BACKEND_NAMES.get(tuple(measured_by.iloc[0]), '')} with standard errors"
        if len(measured_by)
        else ""
    )
    return table(headers, "r" * len(headers), cells, caption=f"{caption}{by}", label=label)


def _measured(rows: pd.DataFrame, widths: Sequence[int]) -> list[str]:
    drawn = sampled(rows).sort_values(["backend", "device"]).drop_duplicates("d_k")
    by_width = drawn.set_index("d_k")
    return [
        with_error(by_width.at[d_k, "value"], by_width.at[d_k, "stderr"])
        if d_k in by_width.index
        else NOTHING
        for d_k in widths
    ]


def _exact(rows: pd.DataFrame, widths: Sequence[int]) -> list[str]:
    by_width = exact(rows).drop_duplicates("d_k").set_index("d_k")["value"]
    return [plain(by_width[d_k], 5) if d_k in by_width.index else NOTHING for d_k in widths]


def _laws(tables: Tables) -> str:
    """A row a law of the entries: its fourth moment, and the aligned score's variance at the study's rho."""
    rows = tables.rows("correlation", cell="entry laws")
    fourth = rows[rows["quantity"] == "entry_fourth_moment"].sort_values(["value", "distribution"])
    variances = rows[rows["quantity"] == "score_variance"]
    rho = max((rho for rho in variances["rho"].unique() if rho < 1), default=None)
    variances = variances[variances["rho"] == rho]
    variances = variances[variances["d_k"] == variances["d_k"].max()]
    lines = []
    for law in fourth["distribution"].drop_duplicates():
        values = cell_values(variances[variances["distribution"] == law])
        moment = float(fourth[fourth["distribution"] == law]["value"].iloc[0])
        lines.append([law_words(law), plain(moment), values["measured"], values["exact"]])
    at = "" if rho is None else f", $\\rho$ = {rho:g}"
    return table(
        ["Entries", "Fourth moment", "Variance", "exact"],
        "lrrr",
        lines or [["not measured in this study", *[NOTHING] * 3]],
        caption=f"Variance of the aligned key's score over $\\sqrt{{d_k}}${at}, by the law of the entries",
        label="correlation-laws",
    )


def _precision(tables: Tables) -> str:
    """A row a format: its largest number, the exact cutoff, and where the naive softmax really broke."""
    rows = tables.rows("precision")
    formats = rows[rows["quantity"] == "overflow_cutoff"].sort_values(["value", "variant"])
    lines = []
    for dtype in formats["variant"].drop_duplicates():
        mine = rows[rows["variant"] == dtype]
        tried = mine[mine["quantity"] == "naive_cutoff"].sort_values("backend")
        lines.append(
            [
                f"`{dtype}`",
                *(
                    plain(float(mine[mine["quantity"] == quantity]["value"].iloc[0]))
                    for quantity in ("largest_number", "overflow_cutoff")
                ),
                _distinct(plain(value) for value in tried["value"]),
                _largest(mine, "stable_error"),
                _largest(mine, "underflow_loss"),
            ]
        )
    return table(
        ["Format", "Largest number", "Cutoff", "Broke at", "Error, stable", "Lost to underflow"],
        "lrrrrr",
        lines or [["not measured in this study", *[NOTHING] * 5]],
        caption="Where the exponential overflows, and what the softmax with its maximum subtracted does there",
        label="precision-cutoffs",
    )


def _six_scores(tables: Tables) -> str:
    """The reconstructed row, and how far its entries range over all rows that the search kept."""
    rows = tables.rows("reconstruction")

    def by_place(quantity: str) -> dict[str, float]:
        mine = rows[rows["quantity"] == quantity].drop_duplicates("variant")
        return dict(zip(mine["variant"], mine["value"], strict=True))

    scores, low, high = map(by_place, ("row_score", "entry_low", "entry_high"))
    # The search leaves the order of the entries open and gives their ranges in descending order.
    ordered = sorted(scores.values(), reverse=True)
    return table(
        ["Entry", "This row", "Lowest", "Highest"],
        "rrrr",
        [
            [str(place + 1), plain(score)]
            + [
                plain(ends[str(place)], 4) if str(place) in ends else NOTHING
                for ends in (low, high)
            ]
            for place, score in enumerate(ordered)
        ]
        or [[NOTHING, "not measured in this study", NOTHING, NOTHING]],
        caption="The reconstructed row, and how far its entries range over all rows that the search kept",
        label="six-scores",
    )


def _distinct(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts)) or NOTHING


def _largest(rows: pd.DataFrame, quantity: str) -> str:
    values = rows[rows["quantity"] == quantity]["value"]
    return plain(float(values.max()), 2) if len(values) else NOTHING
