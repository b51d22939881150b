"""Loss and frozen rows over training steps at the largest width, a series for each remedy."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, main_sweep, trained, whole
from attention_scaling.figures.wording import REMEDY_WORDS, course


def _rows(tables: Tables, quantity: str) -> pd.DataFrame:
    """The rows at the largest width, after at least one step."""
    table = trained(tables, quantity, cell=main_sweep(tables))
    return table[(table["d_k"] == table["d_k"].max()) & (table["step"] > 0)]


def drawable(tables: Tables) -> bool:
    """Whether anything was recorded after the start."""
    return len(_rows(tables, "loss")) > 0


def _variants(tables: Tables) -> list[str]:
    found = set(_rows(tables, "loss")["variant"])
    return [variant for variant in style.REMEDY_LOOKS if variant in found]


def draw(tables: Tables) -> Figure:
    """A panel for the loss, one for the share of frozen rows."""
    variants = _variants(tables)
    looks = [style.REMEDY_LOOKS[variant] for variant in variants]
    drawn, panels = style.figure(2, height=2.6, legend_rows=-(-len(looks) // 4), titles=True)
    titles = {"loss": "Loss", "frozen_share": "Frozen rows: closed on a wrong key"}
    for axes, (quantity, title) in zip(panels, titles.items(), strict=True):
        table = _rows(tables, quantity)
        axes.set_title(title)
        for variant, look in zip(variants, looks, strict=True):
            rows = table[table["variant"] == variant]
            style.curve(axes, rows, look, x="step")
            style.points(axes, rows, look, x="step")
        if quantity == "loss":
            style.decades(axes)
        style.step_axis(axes, whole(table, "step"), label=axes is panels[-1])
    panels[0].set_ylabel("mean loss")
    panels[1].set_ylabel("share, 0 to 1")
    panels[1].set_ylim(-0.03, 1.04)
    style.legend(drawn, looks, columns=4, exact=False)
    return drawn


def alt_text(tables: Tables) -> str:
    """How the loss runs under each remedy."""
    table = _rows(tables, "loss").sort_values("step")
    courses = [
        f"{REMEDY_WORDS[variant]} it {course(list(table[table['variant'] == variant]['value']))}"
        for variant in _variants(tables)
    ]
    steps = whole(table, "step")
    return f"Loss at width {whole(table, 'd_k')[-1]} from step {steps[0]} to {steps[-1]}: {', '.join(courses)}."


def caption(tables: Tables) -> str:
    """What is drawn."""
    table = _rows(tables, "loss")
    return (
        f"Training at width {whole(table, 'd_k')[-1]}, one learning rate for all. Means over "
        f"{table['samples'].max():.0f} seeds, bars of two standard errors. A row is frozen when its own key has "
        f"less than half of the weight and the trace of its Jacobian is below a hundredth."
    )
