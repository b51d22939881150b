"""Loss over the learning rate, a line for each width, a panel for each divisor."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, by_rate, picked, whole
from attention_scaling.figures.wording import REMEDY_WORDS, plain

WIDTHS = 4
PANELS = 4


def _variants(table: pd.DataFrame) -> list[str]:
    found = set(table["variant"])
    return [variant for variant in style.REMEDY_LOOKS if variant in found][:PANELS]


def drawable(tables: Tables) -> bool:
    """Whether losses were measured at several rates."""
    return len(by_rate(tables)) > 0


def draw(tables: Tables) -> Figure:
    """A panel for each divisor, a series for each width."""
    table = by_rate(tables)
    widths, variants = picked(whole(table, "d_k"), WIDTHS), _variants(table)
    looks = style.series_looks([f"$d_k$ = {d_k}" for d_k in widths])
    drawn, panels = style.figure(len(variants), height=1.9, legend_rows=1, titles=True)
    for axes, variant in zip(panels, variants, strict=True):
        axes.set_title(style.REMEDY_LOOKS[variant].label)
        for d_k, look in zip(widths, looks, strict=True):
            rows = table[(table["variant"] == variant) & (table["d_k"] == d_k)]
            style.curve(axes, rows, look, x="rate")
            style.points(axes, rows, look, x="rate")
        axes.set_ylim(0.5 * table["value"].min(), 2 * table["value"].max())
        style.decades(axes)
        _rate_axis(axes, sorted(table["rate"].unique()))
        axes.set_ylabel("mean loss")
    panels[-1].set_xlabel("learning rate")
    style.legend(drawn, looks, columns=4, exact=False)
    return drawn


def _rate_axis(axes: Axes, rates: list[float]) -> None:
    """A logarithmic axis with at most five of the rates written out."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(picked(rates, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def alt_text(tables: Tables) -> str:
    """The rate with the smallest mean loss at the first and the last width, under each divisor."""
    table = by_rate(tables)
    widths = whole(table, "d_k")

    def best(variant: str, d_k: int) -> str:
        rows = table[(table["variant"] == variant) & (table["d_k"] == d_k)]
        return plain(rows.loc[rows["value"].idxmin(), "rate"]) if len(rows) else "not measured"

    found = [
        f"{REMEDY_WORDS[variant]} {best(variant, widths[0])} and {best(variant, widths[-1])}"
        for variant in _variants(table)
    ]
    return (
        f"Loss over the learning rate, a line for each width. The rate with the smallest mean loss at width "
        f"{widths[0]} and at width {widths[-1]}: {', '.join(found)}."
    )


def caption(tables: Tables) -> str:
    """What is drawn."""
    table = by_rate(tables)
    return (
        f"Loss after {table['step'].max():.0f} steps over the learning rate. Means over "
        f"{table['samples'].max():.0f} seeds, bars of two standard errors. Where the valleys of all widths lie "
        "one above the other, a rate found in a narrow head serves in a wide one."
    )
