"""One row of six scores at several widths under each divisor, and the share-out that the softmax makes of it.

The lesson that shows this figure prints the largest weights and not the row. The row here is a reconstruction:
one that gives all the printed weights.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, divisors, whole
from attention_scaling.figures.wording import DIVISOR_WORDS, listing, plain


def _weights(tables: Tables) -> pd.DataFrame:
    rows = tables.rows("reconstruction", "weight")
    return rows.assign(position=rows["variant"].astype(int)).drop_duplicates(
        ["d_k", "divisor", "position"]
    )


def _bars(table: pd.DataFrame, divisor: str, d_k: int) -> list[float]:
    rows = table[(table["divisor"] == divisor) & (table["d_k"] == d_k)]
    return list(rows.sort_values("position")["value"])


def draw(tables: Tables) -> Figure:
    """A row of panels for the scores themselves and one for each divisor; a column for each width."""
    table = _weights(tables)
    widths, shown = whole(table, "d_k"), divisors(table)
    scores = _scores(tables, widths)
    rows = len(shown) + (1 if scores else 0)
    drawn, grid = style.grid(rows, len(widths), height=1.05)
    if scores:
        limit = 1.1 * max(abs(score) for row in scores.values() for score in row)
        for axes, d_k in zip(grid[0], widths, strict=True):
            _panel(axes, scores[d_k], style.LIGHT.grey, (-limit, limit))
        grid[0][0].set_ylabel("score")
    for panels, divisor in zip(grid[-len(shown) :], shown, strict=True):
        look = style.DIVISOR_LOOKS[divisor]
        for axes, d_k in zip(panels, widths, strict=True):
            weights = _bars(table, divisor, d_k)
            _panel(axes, weights, look.colour, (0, 1.28))
            axes.set_yticks([0, 0.5, 1])
            axes.annotate(
                f"{max(weights):.2f}",
                (weights.index(max(weights)) - 0.36, max(weights)),
                textcoords="offset points",
                xytext=(0, 3),
                ha="left",
                color=style.LIGHT.ink,
            )
        panels[0].set_ylabel(look.label)
    for axes, d_k in zip(grid[0], widths, strict=True):
        axes.set_title(f"$d_k$ = {d_k}", loc="center")
    for panels in grid:
        for axes in panels[1:]:
            axes.set_yticklabels([])
    for axes in grid[-1]:
        axes.set_xlabel("position")
    return drawn


def _panel(axes: Axes, values: list[float], colour: str, limits: tuple[float, float]) -> None:
    axes.bar(
        range(len(values)),
        values,
        width=0.72,
        facecolor=colour,
        edgecolor=style.LIGHT.ink,
        linewidth=0.6,
        alpha=0.75,
    )
    axes.axhline(0, color=style.LIGHT.muted, linewidth=0.7)
    axes.set_ylim(*limits)
    axes.set_xticks(range(len(values)), [str(place + 1) for place in range(len(values))])
    axes.grid(visible=False, axis="x")
    axes.tick_params(length=0)


def _scores(tables: Tables, widths: list[int]) -> dict[int, list[float]]:
    """The undivided row at each width: its unit-size scores times the root of the width."""
    rows = tables.rows("reconstruction", "row_score")
    if not len(rows):
        return {}
    rows = rows.assign(position=rows["variant"].astype(int)).drop_duplicates("position")
    unit = list(rows.sort_values("position")["value"])
    return {d_k: [score * d_k**0.5 for score in unit] for d_k in widths}


def alt_text(tables: Tables) -> str:
    """The largest weight in each panel."""
    table = _weights(tables)
    widths = whole(table, "d_k")
    lines = [
        f"{DIVISOR_WORDS[divisor]} "
        + listing([f"{max(_bars(table, divisor, d_k)):.2f}" for d_k in widths])
        for divisor in divisors(table)
    ]
    return (
        f"Bars for six positions in a grid: a column for each of the widths {listing(widths)}, at the top the "
        f"scores, which grow with the width, below the weights under each divisor. Largest weight: "
        f"{'; '.join(lines)}."
    )


def caption(tables: Tables) -> str:
    """What is drawn, and that the row is a reconstruction."""
    rows = tables.rows("reconstruction", "row_score").drop_duplicates("variant")
    row = f": {listing([plain(value) for value in rows['value']])}" if len(rows) else ""
    return (
        f"Reconstruction: one row of six scores of typical size $\\sqrt{{d_k}}$, and the weights that the "
        f"softmax makes of it under three divisors, the largest written above its bar. The lesson does "
        f"not print its row; this one, found by search, gives all the weights that it prints "
        f"(at size 1{row})."
    )
