"""How scores and gradients of fresh heads grow with the width under every remedy: slopes with intervals."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, exact, samples, shown_keys, whole
from attention_scaling.figures.wording import REMEDY_WORDS, count, short

PANELS = {
    "score_size_slope": "Typical score",
    "gradient_norm_query_slope": "Gradient at $W_Q$",
    "gradient_norm_key_slope": "Gradient at $W_K$",
}


def _rows(tables: Tables, quantity: str) -> pd.DataFrame:
    table = tables.rows("remedies", quantity)
    return table[table["n_keys"] == shown_keys(table)]


def _measured(tables: Tables, quantity: str) -> pd.DataFrame:
    return _rows(tables, quantity).query("method == 'derived'")


def drawable(tables: Tables) -> bool:
    """Whether slopes were measured."""
    return len(_measured(tables, "score_size_slope")) > 0


def _variants(tables: Tables) -> list[str]:
    found = set(_measured(tables, "score_size_slope")["variant"])
    return [variant for variant in style.REMEDY_LOOKS if variant in found]


def draw(tables: Tables) -> Figure:
    """A panel for each quantity, a row for each remedy."""
    variants = _variants(tables)
    shown = [quantity for quantity in PANELS if len(_measured(tables, quantity))]
    height = 0.3 + 0.21 * len(variants)
    drawn, panels = style.figure(len(shown), height=height, legend_rows=1, titles=True, left=1.35)
    for axes, quantity in zip(panels, shown, strict=True):
        axes.set_title(PANELS[quantity])
        measured, known = _measured(tables, quantity), exact(_rows(tables, quantity))
        for place, variant in enumerate(variants):
            look = style.REMEDY_LOOKS[variant]
            rows = measured[measured["variant"] == variant].sort_values(["backend", "device"])
            for index, row in enumerate(rows.itertuples()):
                axes.errorbar(
                    row.value,
                    place,
                    xerr=2 * row.stderr,
                    fmt=look.marker,
                    color=look.colour,
                    markerfacecolor=look.colour if index == 0 else "none",
                    markersize=style.RC["lines.markersize"] + style.RING * index,
                    zorder=3,
                )
            for value in known[known["variant"] == variant]["value"]:
                axes.plot([value] * 2, [place - 0.42, place + 0.42], color=style.LIGHT.ink)
        axes.set_xlim(-0.75, 0.75)
        axes.set_ylim(len(variants) - 0.5, -0.5)
        axes.set_yticks(
            range(len(variants)), [style.REMEDY_LOOKS[variant].label for variant in variants]
        )
        axes.set_ylabel("remedy")
        if axes is panels[-1]:
            axes.set_xlabel("slope over $d_k$, log-log (1)")
    exact_mark = Line2D(
        [], [], color=style.LIGHT.ink, marker="|", markersize=11, linestyle="", label="exact"
    )
    style.legend(
        drawn, [], _measured(tables, "score_size_slope"), columns=4, exact=False, extra=[exact_mark]
    )
    return drawn


def alt_text(tables: Tables) -> str:
    """The slope of the typical score under each remedy."""
    slopes = _measured(tables, "score_size_slope").groupby("variant")["value"].mean()
    found = [
        f"{REMEDY_WORDS[variant]} {short(slopes[variant], 2)}" for variant in _variants(tables)
    ]
    return f"Slope over the width of the typical score of a fresh head: {', '.join(found)}."


def caption(tables: Tables) -> str:
    """What is drawn, from how many heads."""
    table = tables.rows("remedies", "score_square_mean")
    widths = whole(table, "d_k")
    return (
        f"Exponent of $d_k$ in the typical score of a fresh head and in the Frobenius norm of its gradients: "
        f"lines in log-log axes through {len(widths)} widths from {widths[0]} to {widths[-1]}, up to "
        f"{count(samples(table))} heads each, {shown_keys(table)} keys. Bars of two standard errors."
    )
