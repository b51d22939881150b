"""The typical size of the root-scaled score over widths, one line for each law of the entries."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, sampled, samples, whole, words
from attention_scaling.figures.wording import count, law_words, listing, short


def _table(tables: Tables) -> pd.DataFrame:
    return sampled(tables.rows("variance", "score_size", divisor="root"))


def drawable(tables: Tables) -> bool:
    """Whether any pair was drawn: the figure has nothing else."""
    return len(_table(tables)) > 0


def draw(tables: Tables) -> Figure:
    """One series for each law, side by side at each width, about the exact value 1."""
    table = _table(tables)
    laws = words(table, "distribution")
    looks = style.series_looks([law_words(law) for law in laws])
    drawn, (axes,) = style.figure(height=2.8, legend_rows=-(-len(laws) // 3))
    # Only the first backend: six laws on two backends would hide each other.
    table = table[table["backend"] == table["backend"].min()]
    for index, (law, look) in enumerate(zip(laws, looks, strict=True)):
        rows = table[table["distribution"] == law]
        shift = 1 + 0.055 * (index - (len(laws) - 1) / 2)
        style.points(axes, rows.assign(d_k=rows["d_k"].astype(float) * shift), look)
    axes.axhline(1, color=style.LIGHT.muted, linewidth=1.2, zorder=1)
    style.width_axis(axes, whole(table, "d_k"), margin=1.3)
    axes.set_ylabel(r"size over $\sqrt{d_k}$ (1)")
    style.legend(drawn, looks, lines=False)
    return drawn


def alt_text(tables: Tables) -> str:
    """The range of each law's points."""
    table = _table(tables)
    ranges = [
        f"{law_words(law)} {short(rows['value'].min())} to {short(rows['value'].max())}"
        for law, rows in table.groupby("distribution", sort=False)
    ]
    return (
        f"Points scatter about a horizontal line at 1 at every width, whatever the law of the entries: "
        f"{', '.join(ranges)}."
    )


def caption(tables: Tables) -> str:
    """What is drawn, from how many rows."""
    table = _table(tables)
    laws = [law_words(law) for law in words(table, "distribution")]
    return (
        f"Typical size of the score over the root of the width for {len(laws)} laws of the entries "
        f"({listing(laws)}), all centred and of variance 1. {count(samples(table))} pairs a point, "
        f"bars of two standard errors; points are moved sideways a little so that all can be seen. "
        f"The line is the exact value."
    )
