"""What the softmax gives the aligned key, over widths, a panel for each divisor."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import (
    Tables,
    curve,
    divisors,
    exact,
    one_aligned_key,
    picked,
    sampled,
    samples,
    shown_keys,
    whole,
)
from attention_scaling.figures.wording import DIVISOR_WORDS, count, course, listing, short

CORRELATIONS = 5


def _table(tables: Tables) -> pd.DataFrame:
    table = one_aligned_key(tables, "aligned_weight")
    return table[table["n_keys"] == shown_keys(table)]


def _correlations(table: pd.DataFrame) -> list[float]:
    return picked(sorted(table["rho"].dropna().unique()), CORRELATIONS)


def draw(tables: Tables) -> Figure:
    """A panel for each divisor, a series for each correlation."""
    table = _table(tables)
    correlations = _correlations(table)
    looks = style.series_looks([rf"$\rho$ = {rho:g}" for rho in correlations])
    rows = -(-(len(looks) + 3) // 4)
    shown = divisors(table)
    drawn, panels = style.figure(len(shown), height=1.7, legend_rows=rows, titles=True)
    for axes, divisor in zip(panels, shown, strict=True):
        axes.set_title(style.DIVISOR_LOOKS[divisor].label)
        for rho, look in zip(correlations, looks, strict=True):
            rows = table[(table["divisor"] == divisor) & (table["rho"] == rho)]
            style.curve(axes, curve(rows), look)
            style.points(axes, sampled(rows), look)
        style.width_axis(axes, whole(table, "d_k"), label=axes is panels[-1])
        axes.set_ylim(0, 1.04)
        axes.set_ylabel("aligned weight")
    style.legend(drawn, looks, sampled(table), columns=4, exact=len(exact(table)) > 0)
    return drawn


def alt_text(tables: Tables) -> str:
    """How the weight of the largest correlation below 1 runs under each divisor."""
    table = _table(tables)
    inner = [rho for rho in _correlations(table) if 0 < rho < 1] or _correlations(table)
    rho, widths = inner[-1], whole(table, "d_k")
    courses = []
    for divisor in divisors(table):
        rows = table[(table["divisor"] == divisor) & (table["rho"] == rho)]
        courses.append(f"{DIVISOR_WORDS[divisor]} it {course(list(curve(rows)['value']))}")
    return (
        f"Weight of the aligned key over width among {shown_keys(table)} keys. For rho = {rho:g} from width "
        f"{widths[0]} to {widths[-1]}: {', '.join(courses)}."
    )


def caption(tables: Tables) -> str:
    """What is drawn, from how many rows."""
    table = _table(tables)
    n_keys = shown_keys(table)
    lines = "exact" if len(exact(table)) else "joining the points"
    return (
        f"Mean weight of the aligned key among {n_keys} keys, for $\\rho$ of "
        f"{listing([f'{rho:g}' for rho in _correlations(table)])}. {count(samples(table))} rows a "
        f"point, bars of two standard errors; lines: {lines}. The even share is {short(1 / n_keys)}."
    )
