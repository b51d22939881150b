"""Accuracy in the second task over training steps, a panel for each width, a series for each divisor."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, picked, recall_sweep, trained, whole
from attention_scaling.figures.wording import REMEDY_WORDS, listing, short

PANELS = 3


def _rows(tables: Tables) -> pd.DataFrame:
    table = trained(tables, "accuracy")
    return table[table["cell"] == recall_sweep(tables)]


def drawable(tables: Tables) -> bool:
    """Whether the second task was trained."""
    return len(_rows(tables)) > 0


def _variants(table: pd.DataFrame) -> list[str]:
    found = set(table["variant"])
    return [variant for variant in style.REMEDY_LOOKS if variant in found]


def draw(tables: Tables) -> Figure:
    """A panel for each width, a series for each divisor."""
    table = _rows(tables)
    widths = picked(whole(table, "d_k"), PANELS)
    looks = [style.REMEDY_LOOKS[variant] for variant in _variants(table)]
    drawn, panels = style.figure(len(widths), height=1.6, legend_rows=1, titles=True)
    for axes, d_k in zip(panels, widths, strict=True):
        axes.set_title(f"$d_k$ = {d_k}")
        for variant, look in zip(_variants(table), looks, strict=True):
            rows = table[(table["variant"] == variant) & (table["d_k"] == d_k)]
            style.curve(axes, rows, look, x="step")
            style.points(axes, rows, look, x="step")
        axes.set_ylim(0, 1.06)
        axes.set_ylabel("accuracy")
    panels[-1].set_xlabel("training steps")
    style.legend(drawn, looks, columns=4, exact=False)
    return drawn


def alt_text(tables: Tables) -> str:
    """The last accuracy at each width, under each divisor."""
    table = _rows(tables)
    last = table[table["step"] == table["step"].max()].sort_values("d_k")
    found = []
    for variant in _variants(last):
        values = [short(value, 2) for value in last[last["variant"] == variant]["value"]]
        found.append(f"{REMEDY_WORDS[variant]} {listing(values)}")
    widths = listing([str(d_k) for d_k in whole(last, "d_k")])
    return f"Accuracy after the last step at widths {widths}: {'; '.join(found)}."


def caption(tables: Tables) -> str:
    """What is drawn."""
    table = _rows(tables)
    return (
        "Associative recall in two layers: the share of right next tokens over training steps. Means over "
        f"{table['samples'].max():.0f} seeds, bars of two standard errors."
    )
