"""The whole story in one figure: what each divisor makes of a row, and of its gradient, as the width grows."""

from __future__ import annotations

import json

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from attention_scaling.figures import style
from attention_scaling.figures.slices import (
    Tables,
    curve,
    divisors,
    sampled,
    samples,
    shown_keys,
    whole,
)
from attention_scaling.figures.wording import DIVISOR_WORDS, count, course

PANELS = {
    ("saturation", "top_weight"): ("Largest weight of a row", "mean, 0 to 1"),
    ("capacity", "capacity"): (r"Gradient capacity, $1 - \sum a^2$", "mean, 0 to 1"),
}


def draw(tables: Tables) -> Figure:
    """A panel for the largest weight and, where it was measured, one for the gradient capacity."""
    shown = [key for key in PANELS if len(tables.rows(*key))]
    n_keys = shown_keys(tables.rows(*shown[0]))
    marked = printed_anywhere(tables)
    drawn, panels = style.figure(
        len(shown), height=2.3, legend_rows=3 if marked else 2, titles=True
    )
    for axes, key in zip(panels, shown, strict=True):
        table = tables.rows(*key)
        table = table[table["n_keys"] == n_keys]
        title, label = PANELS[key]
        axes.set_title(title)
        axes.set_ylabel(label)
        axes.set_ylim(0, 1.04)
        for divisor in divisors(table):
            rows, look = table[table["divisor"] == divisor], style.DIVISOR_LOOKS[divisor]
            style.curve(axes, curve(rows), look)
            style.points(axes, sampled(rows), look)
        style.width_axis(axes, whole(table, "d_k"), label=axes is panels[-1])
        for d_k, value in printed(tables.verdicts, key[1], n_keys):
            axes.plot([d_k], [value], **_PRINTED)
    looks = [style.DIVISOR_LOOKS[divisor] for divisor in divisors(tables.rows(*shown[0]))]
    extra = [Line2D([], [], label="printed in a lesson", **_PRINTED)] if marked else []
    style.legend(drawn, looks, sampled(tables.rows(*shown[0])), extra=extra)
    return drawn


def printed(verdicts: pd.DataFrame, quantity: str, n_keys: int | None) -> list[tuple[int, float]]:
    """Width and value of what the lessons print of a quantity of rows of `n_keys` keys, each once."""
    found = set()
    claims = verdicts[(verdicts["quantity"] == quantity) & verdicts["printed"].notna()]
    for text, where in zip(claims["printed"], claims["where"], strict=True):
        cell = json.loads(where) if isinstance(where, str) else {}
        if cell.get("n_keys") == n_keys and cell.get("d_k"):
            try:
                found.add((int(cell["d_k"]), float(text.replace(" ", "").replace(",", ""))))
            except ValueError:  # printed as something else than one number
                continue
    return sorted(found)


_PRINTED = {
    "marker": "*",
    "markersize": 11,
    "markeredgewidth": 1.0,
    "color": style.LIGHT.ink,
    "markerfacecolor": "none",
    "linestyle": "",
    "zorder": 4,
}


def alt_text(tables: Tables) -> str:
    """How weight and capacity run over the widths under each divisor."""
    parts = []
    for key, what in zip(PANELS, ("the largest weight", "the gradient capacity"), strict=True):
        table = tables.rows(*key)
        if not len(table):
            continue
        n_keys = shown_keys(table)
        table = table[table["n_keys"] == n_keys]
        courses = [
            f"{DIVISOR_WORDS[divisor]} "
            + course(list(curve(table[table["divisor"] == divisor])["value"]))
            for divisor in divisors(table)
        ]
        widths = whole(table, "d_k")
        parts.append(
            f"With {n_keys} keys, from width {widths[0]} to {widths[-1]}, {what}: {', '.join(courses)}."
        )
    return " ".join(parts)


def caption(tables: Tables) -> str:
    """What is drawn."""
    table = tables.rows("saturation", "top_weight")
    marks = "Stars: what the lessons print. " if printed_anywhere(tables) else ""
    return (
        f"What becomes of a row of {shown_keys(table)} attention weights as the width grows. "
        f"Points are means of {count(samples(table))} rows; bars of two standard errors are smaller "
        f"than the marks. {marks}".strip()
    )


def printed_anywhere(tables: Tables) -> bool:
    """Whether a lesson prints any of what the figure shows."""
    n_keys = shown_keys(tables.rows("saturation", "top_weight"))
    return any(printed(tables.verdicts, quantity, n_keys) for _, quantity in PANELS)
