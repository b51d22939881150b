"""The mean score of a key aligned with its query over widths, over the root and over the width."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import (
    Tables,
    curve,
    exact,
    one_aligned_key,
    picked,
    sampled,
    samples,
    shown_keys,
    whole,
)
from attention_scaling.figures.wording import count, course, listing

CORRELATIONS = 5
PANELS = {"root": r"over $\sqrt{d_k}$", "width": r"over $d_k$"}


def _table(tables: Tables) -> pd.DataFrame:
    table = one_aligned_key(tables, "score_mean")
    return table[(table["n_keys"] == shown_keys(table)) & table["divisor"].isin(PANELS)]


def _correlations(table: pd.DataFrame) -> list[float]:
    return picked(sorted(table["rho"].dropna().unique()), CORRELATIONS)


def draw(tables: Tables) -> Figure:
    """A panel for each divisor, a series for each correlation."""
    table = _table(tables)
    correlations = _correlations(table)
    shown = [divisor for divisor in PANELS if (table["divisor"] == divisor).any()]
    looks = style.series_looks([rf"$\rho$ = {rho:g}" for rho in correlations])
    rows = -(-(len(looks) + 3) // 4)
    drawn, panels = style.figure(len(shown), height=2.1, legend_rows=rows, titles=True)
    for axes, divisor in zip(panels, shown, strict=True):
        axes.set_title(PANELS[divisor])
        for rho, look in zip(correlations, looks, strict=True):
            rows = table[(table["divisor"] == divisor) & (table["rho"] == rho)]
            style.curve(axes, exact(rows), look)
            style.points(axes, sampled(rows), look)
        style.width_axis(axes, whole(table, "d_k"), label=axes is panels[-1])
        axes.set_ylabel("aligned score (mean)")
    style.legend(drawn, looks, sampled(table), columns=4)
    return drawn


def alt_text(tables: Tables) -> str:
    """How the mean of the largest correlation below 1 runs under each divisor."""
    table = _table(tables)
    inner = [rho for rho in _correlations(table) if 0 < rho < 1] or _correlations(table)
    rho = inner[-1]
    courses = []
    for divisor in PANELS:
        rows = table[(table["divisor"] == divisor) & (table["rho"] == rho)]
        means = list(curve(rows)["value"])
        if means:
            where = "root of d_k" if divisor == "root" else "width d_k"
            courses.append(f"over the {where} it {course(means)}")
    widths = whole(table, "d_k")
    return (
        f"Mean score of the aligned key over width, one line for each correlation. For rho = {rho:g} from "
        f"width {widths[0]} to {widths[-1]}: {', '.join(courses)}."
    )


def caption(tables: Tables) -> str:
    """What is drawn, from how many rows."""
    table = _table(tables)
    return (
        f"Mean score of a key whose entries correlate with the query's, for $\\rho$ of "
        f"{listing([f'{rho:g}' for rho in _correlations(table)])}. Lines: $\\rho\\sqrt{{d_k}}$ over the root, "
        f"$\\rho$ over the width. {count(samples(table))} rows a point, bars of two standard errors."
    )
