"""Peak memory of both passes, and what is kept between them, over the number of positions."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, whole
from attention_scaling.figures.wording import VERSION_WORDS, listing, short

PANELS = {
    "forward pass, peak": {"quantity": "peak_bytes", "cell": "forward"},
    "kept between the passes": {"quantity": "kept_bytes"},
    "backward pass, peak": {"quantity": "peak_bytes", "cell": "backward"},
}
MEBIBYTE = 2**20


def _rows(tables: Tables, variant: str, **labels: str) -> pd.DataFrame:
    rows = tables.rows("memory", variant=variant, **labels)
    return rows.assign(value=rows["value"] / MEBIBYTE)


def draw(tables: Tables) -> Figure:
    """A panel for each moment of a pass, a series for each version."""
    drawn, panels = style.figure(len(PANELS), height=1.6, legend_rows=1, titles=True, left=0.86)
    looks = style.series_looks(list(VERSION_WORDS.values()))
    table = tables.rows("memory", "peak_bytes")
    for axes, (title, labels) in zip(panels, PANELS.items(), strict=True):
        axes.set_title(title)
        for variant, look in zip(VERSION_WORDS, looks, strict=True):
            rows = _rows(tables, variant, **labels)
            style.points(axes, rows, look, x="n_keys")
            style.curve(
                axes, rows.groupby("n_keys", as_index=False)["value"].mean(), look, "n_keys"
            )
        style.length_axis(axes, whole(table, "n_keys"), label=axes is panels[-1])
        style.decades(axes)
        axes.set_ylabel("memory (MiB)")
    style.legend(drawn, looks, table, exact=False)
    return drawn


def alt_text(tables: Tables) -> str:
    """The peaks at the largest number of positions."""
    longest = whole(tables.rows("memory", "peak_bytes"), "n_keys")[-1]
    peaks = []
    for variant, words in VERSION_WORDS.items():
        rows = _rows(tables, variant, quantity="peak_bytes", cell="backward")
        peak = rows[rows["n_keys"] == longest]["value"].max()
        peaks.append(f"{short(peak)} MiB with {words}")
    return (
        f"Two lines in each panel in log-log axes, one much steeper. At {longest} positions, the backward pass "
        f"has a peak of {listing(peaks)}."
    )


def caption(tables: Tables) -> str:
    """What is drawn, and the slopes at its end."""
    slopes = []
    for variant, words in VERSION_WORDS.items():
        rows = tables.rows("memory", "peak_growth", variant=variant, cell="backward")
        slopes += [f"{short(rows['value'].iloc[0])} with {words}"] if len(rows) else []
    fitted = f" Slope of the last panel's lines at their end: {listing(slopes)}." if slopes else ""
    widths = whole(tables.rows("memory", "peak_bytes"), "d_k")
    return (
        f"Memory that attention uses beyond its inputs, over the number of positions, one head of width "
        f"{listing(widths)} in float32. Lines join the points.{fitted}"
    )
