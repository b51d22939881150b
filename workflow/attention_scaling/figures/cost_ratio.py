"""Time of the backward pass over that of the forward pass, by width, over the number of positions."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import BACKEND_NAMES, Tables, picked, whole
from attention_scaling.figures.wording import listing, short

WIDTHS = 5


def _table(tables: Tables) -> pd.DataFrame:
    return tables.rows("cost", "time_ratio", variant="plain")


def counted(tables: Tables) -> float:
    """The ratio of the counted operations: the same in all cells."""
    counts = tables.rows("cost", "flop_ratio", variant="plain")["value"]
    return float(counts.iloc[0]) if len(counts) else float("nan")


def draw(tables: Tables) -> Figure:
    """A panel for each backend, a series for each width, a line for what is counted."""
    table = _table(tables)
    widths = picked(whole(table, "d_k"), WIDTHS)
    looks = style.series_looks([f"$d_k$ = {d_k}" for d_k in widths])
    backends = sorted(set(zip(table["backend"], table["device"], strict=True)))
    rows = -(-len(looks) // 4)
    drawn, panels = style.figure(len(backends), height=1.9, legend_rows=rows, titles=True)
    for axes, (backend, device) in zip(panels, backends, strict=True):
        axes.set_title(BACKEND_NAMES[backend, device])
        axes.axhline(counted(tables), color=style.LIGHT.muted, linewidth=0.9, zorder=1)
        mine = table[(table["backend"] == backend) & (table["device"] == device)]
        for d_k, look in zip(widths, looks, strict=True):
            points = mine[mine["d_k"] == d_k]
            style.points(axes, points, look, x="n_keys")
            style.curve(axes, points, look, x="n_keys")
        style.length_axis(axes, whole(table, "n_keys"), label=axes is panels[-1])
        axes.set_ylim(0, 1.1 * max(counted(tables), table["value"].max()))
        axes.set_ylabel("time (ratio)")
    style.legend(drawn, looks, columns=4, exact=False)
    return drawn


def alt_text(tables: Tables) -> str:
    """The ratio at the shortest and narrowest, and at the longest and widest."""
    table = _table(tables)
    lengths, widths = whole(table, "n_keys"), whole(table, "d_k")

    def at(n_keys: int, d_k: int) -> str:
        rows = table[(table["n_keys"] == n_keys) & (table["d_k"] == d_k)]
        values = [short(value) for value in rows.sort_values("backend")["value"]]
        return f"{listing(values) or 'not measured'} at {n_keys} positions and width {d_k}"

    return (
        f"One line for each width and a level line at {short(counted(tables))}. The measured ratio is "
        f"{at(lengths[0], widths[0])}, and {at(lengths[-1], widths[-1])}."
    )


def caption(tables: Tables) -> str:
    """What is drawn."""
    return (
        "Time of the backward pass over that of the forward pass, whole matrices in float32, one head. Medians "
        "over rounds, bars of two standard errors; lines join the points. Thin line: the ratio of the operations "
        f"in their matrix products, {short(counted(tables))}."
    )
