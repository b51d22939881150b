"""The gradient at the scores, W_Q and W_K of a whole head, relative to the root-scaled head, over widths."""

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
    "gradient_ratio_scores": "at the scores",
    "gradient_ratio_query": "at $W_Q$",
    "gradient_ratio_key": "at $W_K$",
}


def _table(tables: Tables, quantity: str) -> pd.DataFrame:
    table = sampled(tables.rows("gradient", quantity))
    return table[table["n_keys"] == shown_keys(table)]


def drawable(tables: Tables) -> bool:
    """Whether any head was drawn: the figure has nothing else."""
    return len(_table(tables, "gradient_ratio_query")) > 0


def draw(tables: Tables) -> Figure:
    """A panel for each place, a series for each divisor."""
    drawn, panels = style.figure(len(PANELS), height=2.0, legend_rows=2, titles=True)
    for axes, (quantity, title) in zip(panels, PANELS.items(), strict=True):
        table = _table(tables, quantity)
        axes.set_title(title)
        for divisor in divisors(table):
            rows, look = table[table["divisor"] == divisor], style.DIVISOR_LOOKS[divisor]
            style.points(axes, rows, look)
            style.curve(axes, curve(rows), look)
        if quantity == "gradient_ratio_scores":  # within one decade
            axes.set_ylim(0, 1.15 * table["value"].max())
        else:
            style.decades(axes)
        style.width_axis(axes, whole(table, "d_k"), label=axes is panels[-1])
        axes.set_ylabel("gradient (ratio)")
    looks = [style.DIVISOR_LOOKS[divisor] for divisor in divisors(table)]
    style.legend(drawn, looks, table, exact=False)
    return drawn


def alt_text(tables: Tables) -> str:
    """How the ratio at the scores and at W_Q runs under each divisor."""

    def courses(quantity: str) -> str:
        table = _table(tables, quantity)
        return ", ".join(
            f"{DIVISOR_WORDS[divisor]} it {course(list(curve(table[table['divisor'] == divisor])['value']))}"
            for divisor in divisors(table)
        )

    widths = whole(_table(tables, "gradient_ratio_query"), "d_k")
    return (
        f"Norm of the gradient over that of the root-scaled head, over width {widths[0]} to "
        f"{widths[-1]}. At the scores: {courses('gradient_ratio_scores')}. At the query's projection: "
        f"{courses('gradient_ratio_query')}; the key's is alike."
    )


def caption(tables: Tables) -> str:
    """What is drawn, from how many heads."""
    table = _table(tables, "gradient_ratio_query")
    return (
        f"Frobenius norm of the gradient at scores and projections of a fresh head with {shown_keys(table)} "
        f"positions, relative to the same head with root-scaled scores. Means over "
        f"{count(samples(table))} heads a point, bars of two standard errors; "
        f"lines join the points."
    )
