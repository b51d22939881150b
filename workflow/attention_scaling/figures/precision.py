"""The score at which the exponential overflows in each floating-point format."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables
from attention_scaling.figures.wording import listing, percent, short

TICKS = (1, 3, 10, 30, 100, 300, 1000)


def _cutoffs(tables: Tables) -> pd.DataFrame:
    """The exact cutoffs, from the format that overflows first to the last."""
    rows = tables.rows("precision", "overflow_cutoff")
    return rows.sort_values(["value", "variant"]).drop_duplicates("variant")


def draw(tables: Tables) -> Figure:
    """A bar up to each format's exact cutoff, and the score at which each backend really overflowed."""
    cutoffs = _cutoffs(tables)
    drawn, (axes,) = style.figure(height=0.55 * len(cutoffs) + 0.1, legend_rows=1, left=1.0)
    axes.barh(
        range(len(cutoffs)),
        cutoffs["value"],
        height=0.5,
        facecolor=style.LIGHT.blue,
        edgecolor=style.LIGHT.ink,
        linewidth=0.6,
        alpha=0.45,
    )
    measured = tables.rows("precision", "naive_cutoff")
    place = {dtype: index for index, dtype in enumerate(cutoffs["variant"])}
    look = style.Look("", style.LIGHT.orange, "D", "")
    shown = measured.assign(place=measured["variant"].map(place)).dropna(subset=["place"])
    style.points(axes, shown, look, x="value", y="place")
    for index, value in enumerate(cutoffs["value"]):
        axes.text(1.15, index, short(value, 4), va="center", color=style.LIGHT.ink)
    axes.set_yticks(range(len(cutoffs)), cutoffs["variant"])
    axes.set_ylim(len(cutoffs) - 0.45, -0.55)
    axes.grid(visible=False, axis="y")
    axes.set_xscale("log")
    axes.set_xlim(1, 1.6 * cutoffs["value"].max())
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("score where exp overflows (nats)")
    bar = Patch(
        facecolor=style.LIGHT.blue, edgecolor=style.LIGHT.ink, alpha=0.45, label="exact cutoff"
    )
    style.legend(drawn, [], measured, exact=False, extra=[bar], marker="D")
    return drawn


def alt_text(tables: Tables) -> str:
    """The cutoffs."""
    parts = [f"{row.variant} at {short(row.value, 4)}" for row in _cutoffs(tables).itertuples()]
    measured = tables.rows("precision", "naive_cutoff")
    distance = ((measured["value"] - measured["theory"]) / measured["theory"]).abs().max()
    marks = (
        f" The scores at which the naive softmax really broke are at most {percent(distance, 2)} percent away."
        if len(measured)
        else ""
    )
    return f"One bar for each floating-point format: exp overflows in {listing(parts)}.{marks}"


def caption(tables: Tables) -> str:
    """What is drawn."""
    return (
        "The score beyond which its exponential is infinite, by floating-point format. Bars: the "
        "logarithm of the format's largest number. Marks: the smallest score at which a softmax "
        "without the maximum subtracted is no longer finite, found by trying, in arithmetic of that "
        "format."
    )
