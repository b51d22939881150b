"""A drawing that several figures share: a quantity over widths by divisor, a panel per number of keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import (
    Tables,
    curve,
    divisors,
    exact,
    panel_keys,
    sampled,
    samples,
    shown_keys,
    whole,
)
from attention_scaling.figures.wording import DIVISOR_WORDS, count, course, listing, short

PANELS = 3
"""At most so many numbers of keys are drawn; all of them stand in the tables."""


@dataclass(frozen=True)
class WidthPanels:
    """A quantity of softmax rows over widths, with its exact curve and what even weights would give."""

    experiment: str
    quantity: str
    name: str
    axis: str
    even: Callable[[int], float]
    """The quantity of a row of n_keys equal weights."""
    even_words: str
    limits: tuple[float, float] | None = (0.0, 1.0)

    def draw(self, tables: Tables) -> Figure:
        """One panel for each number of keys, stacked."""
        table = tables.rows(self.experiment, self.quantity)
        keys = panel_keys(table, PANELS)
        height = 2.5 if len(keys) == 1 else 1.9
        drawn, panels = style.figure(len(keys), height=height, legend_rows=2, titles=True)
        for axes, n_keys in zip(panels, keys, strict=True):
            self._panel(axes, table[table["n_keys"] == n_keys], n_keys)
            style.width_axis(axes, whole(table, "d_k"), label=axes is panels[-1])
        looks = [style.DIVISOR_LOOKS[divisor] for divisor in divisors(table)]
        style.legend(drawn, looks, sampled(table), exact=len(exact(table)) > 0)
        return drawn

    def _panel(self, axes: Axes, table: pd.DataFrame, n_keys: int) -> None:
        axes.set_title(f"{n_keys} key{'s' if n_keys != 1 else ''}")
        axes.set_ylabel(self.axis)
        axes.axhline(self.even(n_keys), color=style.LIGHT.muted, linewidth=0.9, zorder=1)
        for divisor in divisors(table):
            rows = table[table["divisor"] == divisor]
            look = style.DIVISOR_LOOKS[divisor]
            style.curve(axes, curve(rows), look)
            style.points(axes, sampled(rows), look)
        if self.limits is None:
            axes.set_ylim(0, 1.08 * math.log(max(n_keys, 2)))
        else:
            low, high = self.limits
            axes.set_ylim(low, high + 0.04 * (high - low))

    def alt_text(self, tables: Tables) -> str:
        """How the quantity runs over the widths, for the number of keys that stands for the rest."""
        table = tables.rows(self.experiment, self.quantity)
        n_keys = shown_keys(table)
        table = table[table["n_keys"] == n_keys]
        widths = whole(table, "d_k")
        courses = [
            f"{DIVISOR_WORDS[divisor]} it {course(list(curve(table[table['divisor'] == divisor])['value']))}"
            for divisor in divisors(table)
        ]
        return (
            f"Lines over width d_k, one for each divisor. With {n_keys} keys, the {self.name} from width "
            f"{widths[0]} to {widths[-1]}: {', '.join(courses)}."
        )

    def caption(self, tables: Tables) -> str:
        """What is drawn, from how many rows."""
        table = tables.rows(self.experiment, self.quantity)
        keys = panel_keys(table, PANELS)
        lines = "" if len(exact(table)) else "; lines join the points"
        even = list(dict.fromkeys(short(self.even(n_keys)) for n_keys in keys))
        return (
            f"The {self.name} over widths, for {listing(keys)} keys. Points: means of up to "
            f"{count(samples(table))} rows, with bars of two standard errors, mostly smaller than the "
            f"mark{lines}. Thin line: {self.even_words}, "
            f"{listing(even)}."
        )
