"""Scores, gradient and capacity under divisors d_k^p over widths, before keys align with queries and after."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, curve, exact, picked, sampled, whole, words
from attention_scaling.figures.wording import course

EXPONENTS = 5


@dataclass(frozen=True)
class Panel:
    """A quantity at one of the two times, with what the reader is told of it."""

    quantity: str
    after: bool
    title: str
    axis: str
    logarithmic: bool = True

    def rows(self, tables: Tables) -> pd.DataFrame:
        """The rows of one number of keys: of the smallest correlation before, of the largest after."""
        table = tables.rows("continuum", self.quantity)
        rho = table["rho"].max() if self.after else table["rho"].min()
        return table[(table["rho"] == rho) & (table["n_keys"] == table["n_keys"].min())]


BEFORE = Panel("score_size", False, "Before training: the score of a key", "typical score")
AFTER = Panel("aligned_score_mean", True, "After it: the score of the aligned key", "mean score")
PANELS = (
    BEFORE,
    Panel(
        "query_gradient", False, "Before training: the gradient at the query", "typical gradient"
    ),
    AFTER,
    Panel("capacity", True, "After it: what the row lets through", "capacity, 0 to 1", False),
)


def drawable(tables: Tables) -> bool:
    """Whether a key was aligned, and both times are there to compare."""
    return len(exact(BEFORE.rows(tables))) > 0 and AFTER.rows(tables)["rho"].max() > 0


def _panels(tables: Tables) -> list[Panel]:
    """The panels that there is something to draw in: the gradient has no exact value."""
    return [panel for panel in PANELS if len(curve(panel.rows(tables)))]


def _exponents(tables: Tables) -> list[str]:
    return picked(sorted(words(BEFORE.rows(tables), "variant")), EXPONENTS)


def _exponent(variant: str) -> float:
    return float(variant.removeprefix("p="))


def draw(tables: Tables) -> Figure:
    """A panel for each quantity and time, a series for each exponent."""
    exponents = _exponents(tables)
    looks = style.series_looks([f"$p$ = {_exponent(variant):g}" for variant in exponents])
    shown = _panels(tables)
    drawn, panels = style.figure(len(shown), height=2.1, legend_rows=2, titles=True)
    for axes, panel in zip(panels, shown, strict=True):
        table = panel.rows(tables)
        axes.set_title(panel.title)
        for variant, look in zip(exponents, looks, strict=True):
            rows = table[table["variant"] == variant]
            style.curve(axes, curve(rows), look)
            style.points(axes, sampled(rows), look)
        if panel.logarithmic:
            style.decades(axes)
        else:
            axes.set_ylim(-0.04, 1.04)
        style.width_axis(axes, whole(table, "d_k"), label=axes is panels[-1])
        axes.set_ylabel(panel.axis)
    style.legend(drawn, looks, sampled(AFTER.rows(tables)), columns=4)
    return drawn


def alt_text(tables: Tables) -> str:
    """How each panel runs over the widths for every exponent."""

    def courses(panel: Panel) -> str:
        table = panel.rows(tables)
        return ", ".join(
            f"for p = {_exponent(variant):g} it "
            f"{course(list(curve(table[table['variant'] == variant])['value']))}"
            for variant in _exponents(tables)
        )

    widths = whole(BEFORE.rows(tables), "d_k")
    described = " ".join(
        f"{panel.title.replace(':', ',')}: {courses(panel)}." for panel in _panels(tables)
    )
    return (
        f"{len(_panels(tables))} panels over width {widths[0]} to {widths[-1]}, a line for each exponent p of "
        f"the divisor. {described}"
    )


def caption(tables: Tables) -> str:
    """What is drawn."""
    rho = AFTER.rows(tables)["rho"].max()
    return (
        "Scores divided by $d_k^p$. Before training, keys are independent of the query: the exact typical score "
        "is $d_k^{1/2 - p}$, and it and the gradient that reaches the query are level for $p = 1/2$ alone. After "
        f"it, one key is aligned with the query by $\\rho$ = {rho:g}: its mean score "
        "is $\\rho\\, d_k^{1 - p}$, and every $p$ below 1 closes the row as the head widens, the smaller ones "
        "sooner. "
        "Bars of two standard errors are smaller than the marks."
    )
