"""Moments of the score over all sign rows, walked through one by one."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, whole
from attention_scaling.figures.wording import count, listing, plain, short

MOMENTS = {
    "score_square_mean": r"$E[e^2]$",
    "score_fourth_mean": r"$E[e^4]$",
}
EXPECTED = {
    "score_square_mean": lambda d_k: d_k,
    "score_fourth_mean": lambda d_k: 3 * d_k**2 - 2 * d_k,
}


def _rows(tables: Tables, quantity: str) -> pd.DataFrame:
    rows = tables.rows("variance", quantity, method="enumeration").sort_values("d_k")
    # Divided scores are the same walk, rescaled.
    return rows[rows["divisor"].fillna("none") == "none"].drop_duplicates("d_k")


def draw(tables: Tables) -> Figure:
    """Second and fourth moment as counted, on the polynomials that they equal."""
    drawn, (axes,) = style.figure(height=2.8, legend_rows=1)
    looks = style.series_looks(list(MOMENTS.values()))
    for quantity, look in zip(MOMENTS, looks, strict=True):
        rows = _rows(tables, quantity)
        style.points(axes, rows, look)
        widths = rows["d_k"].astype(float)
        values = widths.map(EXPECTED[quantity])
        axes.plot(widths, values, color=look.colour, linestyle=look.line)
    style.decades(axes)
    style.width_axis(axes, whole(_rows(tables, "score_square_mean"), "d_k"))
    axes.set_ylabel("mean over all sign rows (1)")
    style.legend(drawn, looks)
    return drawn


def _largest_difference(tables: Tables) -> float:
    rows = {quantity: _rows(tables, quantity) for quantity in MOMENTS}
    return max(
        (rows[quantity]["value"] - rows[quantity]["d_k"].map(EXPECTED[quantity])).abs().max()
        for quantity in MOMENTS
    )


def alt_text(tables: Tables) -> str:
    """The counted moments at the largest width."""
    squares, fourths = (_rows(tables, quantity).iloc[-1] for quantity in MOMENTS)
    return (
        f"Two rising lines with points on them. Over all 2^{squares['d_k']:g} sign rows of width "
        f"{squares['d_k']:g} the mean square of the score is {plain(squares['value'])} and the mean fourth power "
        f"{plain(fourths['value'])}."
    )


def caption(tables: Tables) -> str:
    """What is drawn, and how many rows were walked through."""
    widths = whole(_rows(tables, "score_square_mean"), "d_k")
    return (
        f"Second and fourth moment of the score, counted over every sign row of widths {listing(widths)} "
        f"(up to {count(2 ** widths[-1])} rows) with the key fixed. Lines: $d_k$ and $3 d_k^2 - 2 d_k$. "
        f"Largest difference between a count and its line: {short(_largest_difference(tables))}."
    )
