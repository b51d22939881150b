"""Scores under divisors d_k^p over widths: of independent keys, and of a key aligned with its query."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, curve, exact, picked, sampled, whole, words
from attention_scaling.figures.wording import course

EXPONENTS = 5

BEFORE, AFTER = "score_size", "aligned_score_mean"


def _rows(tables: Tables, quantity: str) -> pd.DataFrame:
    """The rows of one number of keys: of the smallest correlation before, of the largest after."""
    table = tables.rows("continuum", quantity)
    rho = table["rho"].min() if quantity == BEFORE else table["rho"].max()
    return table[(table["rho"] == rho) & (table["n_keys"] == table["n_keys"].min())]


def drawable(tables: Tables) -> bool:
    """Whether a key was aligned, and both times are there to compare."""
    return len(exact(_rows(tables, BEFORE))) > 0 and _rows(tables, AFTER)["rho"].max() > 0


def _exponents(tables: Tables) -> list[str]:
    return picked(sorted(words(_rows(tables, BEFORE), "variant")), EXPONENTS)


def _exponent(variant: str) -> float:
    return float(variant.removeprefix("p="))


def draw(tables: Tables) -> Figure:
    """A panel before training and one after it, a series for each exponent."""
    exponents = _exponents(tables)
    looks = style.series_looks([f"$p$ = {_exponent(variant):g}" for variant in exponents])
    drawn, panels = style.figure(2, height=2.3, legend_rows=2, titles=True)
    titles = {
        BEFORE: "Before training: a key independent of the query",
        AFTER: "After it: the key aligned with the query",
    }
    labels = {BEFORE: "typical score", AFTER: "mean score"}
    for axes, (quantity, title) in zip(panels, titles.items(), strict=True):
        table = _rows(tables, quantity)
        axes.set_title(title)
        for variant, look in zip(exponents, looks, strict=True):
            rows = table[table["variant"] == variant]
            style.curve(axes, curve(rows), look)
            style.points(axes, sampled(rows), look)
        style.decades(axes)
        style.width_axis(axes, whole(table, "d_k"), label=axes is panels[-1])
        axes.set_ylabel(labels[quantity])
    style.legend(drawn, looks, sampled(_rows(tables, AFTER)), columns=4)
    return drawn


def alt_text(tables: Tables) -> str:
    """How each panel runs over the widths for the exponents that the two times speak for."""

    def courses(quantity: str) -> str:
        table = _rows(tables, quantity)
        return ", ".join(
            f"for p = {_exponent(variant):g} it "
            f"{course(list(curve(table[table['variant'] == variant])['value']))}"
            for variant in _exponents(tables)
        )

    widths = whole(_rows(tables, BEFORE), "d_k")
    return (
        f"Two panels over width {widths[0]} to {widths[-1]}, a line for each exponent p of the divisor. Typical "
        f"score of an independent key: {courses(BEFORE)}. Mean score of the aligned key: {courses(AFTER)}."
    )


def caption(tables: Tables) -> str:
    """What is drawn."""
    return (
        "Scores divided by $d_k^p$. Above, keys are independent of the query, and the exact typical score is "
        "$d_k^{1/2 - p}$: level for $p = 1/2$ alone. Below, one key is aligned with the query by $\\rho$ = "
        f"{_rows(tables, AFTER)['rho'].max():g}, and its mean score is $\\rho\\, d_k^{{1 - p}}$: level for "
        "$p = 1$ alone. Bars of two standard errors are smaller than the marks."
    )
