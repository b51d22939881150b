"""The gradient at the scores of wrong rows under two losses, over widths: cross-entropy, and attention's."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

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
    "cross_entropy_gradient": "cross-entropy behind the softmax",
    "attention_gradient": "values behind the softmax, as in attention",
}


def _table(tables: Tables, quantity: str) -> pd.DataFrame:
    table = sampled(tables.rows("gradient", quantity))
    return table[table["n_keys"] == shown_keys(table)]


def draw(tables: Tables) -> Figure:
    """A panel for each loss, a series for each divisor."""
    drawn, panels = style.figure(len(PANELS), height=1.9, legend_rows=2, titles=True)
    for axes, (quantity, title) in zip(panels, PANELS.items(), strict=True):
        table = _table(tables, quantity)
        axes.set_title(title)
        for divisor in divisors(table):
            rows, look = table[table["divisor"] == divisor], style.DIVISOR_LOOKS[divisor]
            style.points(axes, rows, look)
            style.curve(axes, curve(rows), look)
        style.width_axis(axes, whole(table, "d_k"), label=axes is panels[-1])
        axes.set_ylim(0, 1.15 * table["value"].max())
        axes.set_ylabel("gradient (norm)")
    looks = [style.DIVISOR_LOOKS[divisor] for divisor in divisors(table)]
    style.legend(drawn, looks, table, exact=False)
    return drawn


def alt_text(tables: Tables) -> str:
    """How both gradients run under each divisor."""
    parts = []
    for quantity, name in zip(PANELS, ("cross-entropy", "attention"), strict=True):
        table = _table(tables, quantity)
        courses = [
            f"{DIVISOR_WORDS[divisor]} it {course(list(curve(table[table['divisor'] == divisor])['value']))}"
            for divisor in divisors(table)
        ]
        parts.append(f"Under {name}, {', '.join(courses)}.")
    widths = whole(table, "d_k")
    return f"Norm of the gradient at the scores over width {widths[0]} to {widths[-1]}. {' '.join(parts)}"


def caption(tables: Tables) -> str:
    """What is drawn, from how many rows."""
    table = _table(tables, "attention_gradient")
    return (
        f"Mean norm of the gradient at the scores of rows of {shown_keys(table)} keys whose winner is wrong. "
        "Above: cross-entropy, with another key as the right class. Below: a standard normal gradient at the "
        f"weights, as values pass it on. {count(samples(table))} rows a point, bars of two standard errors; "
        "lines join the points."
    )
