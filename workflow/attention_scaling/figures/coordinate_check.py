"""Size of the logits over width, one line a training step: the coordinate check of muP's users, for attention.

The form is that of Yang et al. 2022, "Tensor Programs V", appendix D.1: what a parametrisation keeps level at
every step, it keeps level at every width.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, main_sweep, picked, trained, whole
from attention_scaling.figures.wording import REMEDY_WORDS, course

STEPS = 6
VARIANTS = ("none", "root", "width", "qk_norm")
COLUMNS = {"right_logit": "right key's logit", "logit_size": "mean |logit|"}
CLEAR = 2.0
"""A mean logit is drawn where it lies this many standard errors above 0: the axis is logarithmic."""


def _rows(tables: Tables, quantity: str) -> pd.DataFrame:
    table = trained(tables, quantity, cell=main_sweep(tables))
    return table[table["value"] > CLEAR * table["stderr"].fillna(0.0)]


def drawable(tables: Tables) -> bool:
    """Whether a remedy that the figure shows was trained."""
    return len(_variants(tables)) > 0


def _variants(tables: Tables) -> list[str]:
    found = set(_rows(tables, "logit_size")["variant"])
    return [variant for variant in VARIANTS if variant in found]


def _steps(tables: Tables) -> list[int]:
    return picked(whole(_rows(tables, "logit_size"), "step"), STEPS)


def draw(tables: Tables) -> Figure:
    """A row of panels for each remedy, a column for each quantity, a line for each step."""
    steps, variants = _steps(tables), _variants(tables)
    looks = style.series_looks([f"step {step}" for step in steps])
    drawn, rows = style.grid(len(variants), len(COLUMNS), height=1.45, legend_rows=2)
    shown = pd.concat([_rows(tables, quantity) for quantity in COLUMNS])
    values = shown[shown["variant"].isin(variants)]["value"]
    limits = 0.6 * values.min(), 1.7 * values.max()
    for column, (quantity, title) in enumerate(COLUMNS.items()):
        table = _rows(tables, quantity)
        table = table[table["variant"].isin(variants) & table["step"].isin(steps)]
        rows[0][column].set_title(title)
        for panels, variant in zip(rows, variants, strict=True):
            axes = panels[column]
            for step, look in zip(steps, looks, strict=True):
                mine = table[(table["variant"] == variant) & (table["step"] == step)]
                style.curve(axes, mine, look)
                style.points(axes, mine, look)
            axes.set_ylim(*limits)
            style.decades(axes)
            style.width_axis(axes, whole(table, "d_k"), label=panels is rows[-1], margin=1.7)
            if column == 0:
                axes.set_ylabel(style.REMEDY_LOOKS[variant].label)
            else:
                axes.tick_params(labelleft=False)
            axes.tick_params(labelbottom=panels is rows[-1])
    style.legend(drawn, looks, columns=3, exact=False)
    return drawn


def alt_text(tables: Tables) -> str:
    """How the right key's logit runs over the widths after the last step, under each remedy."""
    table = _rows(tables, "right_logit")
    last = table[table["step"] == _steps(tables)[-1]].sort_values("d_k")
    courses = [
        f"{REMEDY_WORDS[variant]} it {course(list(last[last['variant'] == variant]['value']))}"
        for variant in _variants(tables)
        if (last["variant"] == variant).any()
    ]
    widths = whole(_rows(tables, "logit_size"), "d_k")
    return (
        f"Panels over width {widths[0]} to {widths[-1]}, a line for each of the training steps "
        f"{', '.join(map(str, _steps(tables)))}. Right key's logit after the last: {', '.join(courses)}."
    )


def caption(tables: Tables) -> str:
    """What is drawn."""
    table = _rows(tables, "logit_size")
    return (
        f"Coordinate check of the logits: left, the mean logit of a query's own key, where clear of 0; right, "
        f"the mean size of all logits. One line a training step, {table['samples'].max():.0f} seeds, bars of two "
        f"standard errors. A divisor that keeps logits stable across widths keeps the lines level."
    )
