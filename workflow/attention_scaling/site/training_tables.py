"""The tables on the page about remedies and training."""

from __future__ import annotations

import pandas as pd

from attention_scaling.figures.slices import (
    Tables,
    exact,
    main_sweep,
    shown_keys,
    trained,
    whole,
    words,
)
from attention_scaling.figures.wording import REMEDY_MARKUP, plain, with_error
from attention_scaling.site.markdown import table

NOTHING = "–"


def training_tables(tables: Tables) -> dict[str, str]:
    """Markdown of each table that the page includes, by its label."""
    return {
        "continuum": _continuum(tables),
        "remedies": _remedies(tables),
        "training": _training(tables),
    }


def _continuum(tables: Tables) -> str:
    """A row an exponent: exact slopes, and the exact capacity at the last width before and after."""
    capacity = exact(tables.rows("continuum", "capacity"))
    widths, rhos = whole(capacity, "d_k"), sorted(capacity["rho"].unique())

    def slope(quantity: str, variant: str) -> str:
        rows = exact(tables.rows("continuum", f"{quantity}_slope", variant=variant))
        return plain(round(float(rows["value"].iloc[0]), 9) + 0.0) if len(rows) else NOTHING

    def at_last(rho: float, variant: str) -> str:
        rows = capacity[
            (capacity["rho"] == rho)
            & (capacity["variant"] == variant)
            & (capacity["d_k"] == widths[-1])
        ]
        return plain(float(rows["value"].iloc[0]), 4) if len(rows) else NOTHING

    lines = [
        [
            plain(float(variant.removeprefix("p="))),
            slope("score_size", variant),
            slope("aligned_score_mean", variant),
            at_last(rhos[0], variant),
            at_last(rhos[-1], variant),
        ]
        for variant in sorted(words(capacity, "variant"))
    ]
    where = f" at width {widths[-1]}" if widths else ""
    return table(
        ["$p$", "Size, independent", "Mean, aligned", f"Capacity before{where}", "and after"],
        "rrrrr",
        lines or [[NOTHING, "not measured in this study", NOTHING, NOTHING, NOTHING]],
        caption="Divisors $d_k^p$: exact slopes of scores over the width in log-log axes, and the row's capacity",
        label="continuum",
    )


def _remedies(tables: Tables) -> str:
    """A row a remedy: slopes of fresh heads over the widths."""
    rows = tables.rows("remedies", method="derived")
    rows = rows[rows["n_keys"] == shown_keys(rows)]
    quantities = {
        "score_size_slope": "Typical score",
        "top_weight_slope": "Largest weight",
        "capacity_slope": "Capacity",
        "gradient_norm_query_slope": "Gradient at $W_Q$",
        "gradient_norm_key_slope": "at $W_K$",
    }
    lines = [
        [REMEDY_MARKUP[variant], *(_first(rows, variant, quantity) for quantity in quantities)]
        for variant in _variants(rows)
    ]
    return table(
        ["Remedy", *quantities.values()],
        "lrrrrr",
        lines or [["not measured in this study", *[NOTHING] * len(quantities)]],
        caption="Slopes over the width in log-log axes, fresh heads, with standard errors",
        label="remedies",
    )


def _training(tables: Tables) -> str:
    """A row a remedy: what the last step left at the first and the last width."""
    sweep = main_sweep(tables)
    losses = trained(tables, "loss", cell=sweep)
    widths, steps = whole(losses, "d_k"), whole(losses, "step")
    columns = {
        f"{name}, $d_k$ = {d_k}": (quantity, d_k)
        for quantity, name in (("loss", "Loss"), ("right_logit", "Right logit"))
        for d_k in dict.fromkeys([*widths[:1], *widths[-1:]])
    }
    columns["Slope"] = ("right_logit_slope", None)

    def cell(variant: str, quantity: str, d_k: int | None) -> str:
        rows = trained(tables, quantity, cell=sweep, step=steps[-1])
        rows = rows[rows["d_k"].isna() if d_k is None else rows["d_k"] == d_k]
        return _first(rows, variant, quantity)

    lines = [
        [REMEDY_MARKUP[variant], *(cell(variant, *column) for column in columns.values())]
        for variant in _variants(losses)
    ]
    after = f" after {steps[-1]} steps" if steps else ""
    return table(
        ["Remedy", *columns],
        "l" + "r" * len(columns),
        lines or [["not measured in this study", *[NOTHING] * len(columns)]],
        caption=f"Loss and mean logit of the right key{after}, with standard errors over seeds, and the slope "
        "of the latter over the width in log-log axes",
        label="training",
    )


def _variants(rows: pd.DataFrame) -> list[str]:
    found = set(rows["variant"])
    return [variant for variant in REMEDY_MARKUP if variant in found]


def _first(rows: pd.DataFrame, variant: str, quantity: str) -> str:
    """The first backend's value with its error."""
    rows = rows[(rows["variant"] == variant) & (rows["quantity"] == quantity)]
    rows = rows.sort_values(["backend", "device"])
    return with_error(*rows[["value", "stderr"]].iloc[0]) if len(rows) else NOTHING
