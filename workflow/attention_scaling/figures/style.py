"""What all figures share in looks: colours of two themes, type, margins, marks, legends.

Figures are drawn once, in the light theme; the dark variant is the same drawing with its colours exchanged
one for one, so the two can differ in nothing else. Every colour in a figure is therefore one of `LIGHT`.
Series differ in colour, in marker and in line style; the colours are Okabe and Ito's ("Color universal
design", 2008), darkened or lightened for contrast with the page.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields

import matplotlib
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from attention_scaling.figures.slices import BACKEND_NAMES


@dataclass(frozen=True)
class Theme:
    """The colours of one theme, by role."""

    page: str
    ink: str
    muted: str
    grid: str
    blue: str
    orange: str
    green: str
    purple: str
    gold: str
    grey: str


LIGHT = Theme(
    page="#ffffff",
    ink="#1f2328",
    muted="#57606a",
    grid="#d9dfe5",
    blue="#0072b2",
    orange="#d55e00",
    green="#00865f",
    purple="#a6447c",
    gold="#94690a",
    grey="#6b7683",
)
DARK = Theme(
    page="#16191d",
    ink="#e6edf3",
    muted="#a5afba",
    grid="#3a424c",
    blue="#6cb8f6",
    orange="#ff9c5b",
    green="#3fce9e",
    purple="#ea9cc9",
    gold="#e5bd57",
    grey="#98a3b0",
)
THEMES = {"light": LIGHT, "dark": DARK}

WIDTH = 5.6
"""Inches. Scaled to the width of a phone, the text is still about 10 px high."""

RING = 3.5
"""Points by which the mark of each further backend is larger than the one before."""

RC = {
    "svg.hashsalt": "attention-scaling",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 11.5,
    "axes.labelsize": 11.5,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 5,
    "axes.labelpad": 3,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "legend.fontsize": 11,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.2,
    "legend.borderaxespad": 0.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "grid.color": LIGHT.grid,
    "grid.linewidth": 0.7,
    "axes.edgecolor": LIGHT.muted,
    "axes.labelcolor": LIGHT.ink,
    "axes.titlecolor": LIGHT.ink,
    "text.color": LIGHT.ink,
    "xtick.color": LIGHT.muted,
    "ytick.color": LIGHT.muted,
    "xtick.labelcolor": LIGHT.ink,
    "ytick.labelcolor": LIGHT.ink,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "errorbar.capsize": 2,
    "hatch.linewidth": 0.8,
    "hatch.color": LIGHT.ink,
}


def applied() -> AbstractContextManager[None]:
    """Within it, matplotlib draws and writes as the figures of the site are drawn and written."""
    return matplotlib.rc_context(RC)


@dataclass(frozen=True)
class Look:
    """How one series is told from the others, with and without colour."""

    label: str
    colour: str
    marker: str
    line: str | tuple


DIVISOR_LOOKS = {
    "none": Look("undivided", LIGHT.orange, "o", "-"),
    "root": Look(r"over $\sqrt{d_k}$", LIGHT.blue, "s", (0, (5, 1.6))),
    "width": Look(r"over $d_k$", LIGHT.green, "^", (0, (1.2, 1.4))),
}

REMEDY_LOOKS = {
    **DIVISOR_LOOKS,
    "qk_norm": Look("QK-norm", LIGHT.purple, "D", (0, (7, 1.5, 1.5, 1.5))),
    "folded": Look("folded", LIGHT.gold, "v", (0, (3, 1, 1, 1, 1, 1))),
    "additive": Look("additive", LIGHT.grey, "P", (0, (2.5, 2.5))),
    "softcap": Look("soft cap", LIGHT.ink, "x", (0, (1, 3))),
    "qk_rms": Look("QK-RMS", LIGHT.purple, "X", (0, (1, 3))),
}
"""Looks of remedies, in the order in which they are shown."""

SERIES = (
    ("blue", "o", "-"),
    ("orange", "s", (0, (5, 1.6))),
    ("green", "^", (0, (1.2, 1.4))),
    ("purple", "D", (0, (7, 1.5, 1.5, 1.5))),
    ("gold", "v", (0, (3, 1, 1, 1, 1, 1))),
    ("grey", "P", (0, (2.5, 2.5))),
)


def series_looks(labels: Sequence[str]) -> list[Look]:
    """Looks for series that are not divisors, in order; they repeat after six."""
    looks = (SERIES[index % len(SERIES)] for index in range(len(labels)))
    return [
        Look(label, getattr(LIGHT, colour), marker, line)
        for label, (colour, marker, line) in zip(labels, looks, strict=True)
    ]


def figure(
    panels: int = 1,
    *,
    height: float = 2.5,
    legend_rows: int = 0,
    titles: bool = False,
    left: float = 0.78,
) -> tuple[Figure, list[Axes]]:
    """A figure of `panels` stacked axes, each `height` inches, with room for a legend above them.

    Returns the figure and the list of its axes. Margins are in inches, so that text never shrinks with the
    number of panels, and stacked rather than side by side, so that a phone can show them.
    """
    title, between = (0.24 if titles else 0.0), 0.62
    top, bottom, right = 0.14 + 0.25 * legend_rows + title, 0.56, 0.14
    total = top + panels * height + (panels - 1) * (between + title) + bottom
    drawn = Figure(figsize=(WIDTH, total))
    FigureCanvasSVG(drawn)
    axes = []
    for panel in range(panels):
        lowest = total - top - (panel + 1) * height - panel * (between + title)
        box = (left / WIDTH, lowest / total, 1 - (left + right) / WIDTH, height / total)
        axes.append(drawn.add_axes(box))
    return drawn, axes


def grid(
    rows: int, columns: int, *, height: float, legend_rows: int = 0
) -> tuple[Figure, list[list[Axes]]]:
    """A figure of small axes in rows and columns, each `height` inches.

    Above the first row there is room for titles and a legend.
    """
    top, bottom, left, right, across, down = 0.3 + 0.25 * legend_rows, 0.52, 0.8, 0.1, 0.16, 0.28
    total = top + rows * height + (rows - 1) * down + bottom
    width = (WIDTH - left - right - (columns - 1) * across) / columns
    drawn = Figure(figsize=(WIDTH, total))
    FigureCanvasSVG(drawn)
    axes = [
        [
            drawn.add_axes(
                (
                    (left + column * (width + across)) / WIDTH,
                    (total - top - (row + 1) * height - row * down) / total,
                    width / WIDTH,
                    height / total,
                )
            )
            for column in range(columns)
        ]
        for row in range(rows)
    ]
    return drawn, axes


def svg(drawn: Figure) -> str:
    """The figure as SVG text, the same on every run."""
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def recoloured(text: str, theme: Theme) -> str:
    """SVG text drawn in `LIGHT`, in the colours of `theme`."""
    for field in fields(Theme):
        text = text.replace(getattr(LIGHT, field.name), getattr(theme, field.name))
    return text


def width_axis(
    axes: Axes, widths: Sequence[int], *, label: bool = True, margin: float = 1.15
) -> None:
    """A logarithmic axis over the widths d_k, at most six of them written out, the last one included.

    `margin` is the factor by which the axis reaches beyond the widths.
    """
    values = sorted(set(widths))
    step = -(-len(values) // 6)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(values[::-1][::step]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    margin = margin if len(values) > 1 else 2
    axes.set_xlim(values[0] / margin, values[-1] * margin)
    if label:
        axes.set_xlabel("width $d_k$ (coordinates)")


def length_axis(axes: Axes, lengths: Sequence[int], *, label: bool = True) -> None:
    """The same over the number of positions T."""
    width_axis(axes, lengths, label=False)
    if label:
        axes.set_xlabel("positions $T$")


def step_axis(axes: Axes, steps: Sequence[int], *, label: bool = True) -> None:
    """The same over training steps after the first."""
    width_axis(axes, steps, label=False)
    if label:
        axes.set_xlabel("training steps")


def points(axes: Axes, table: pd.DataFrame, look: Look, x: str = "d_k", y: str = "value") -> None:
    """The column `y` of measured rows over their column `x`, values with bars of two standard errors.

    The first backend's points are filled, each further backend's are larger rings around them.
    """
    for index, (_, rows) in enumerate(table.groupby(["backend", "device"], sort=True)):
        errors = 2 * rows["stderr"].fillna(0.0)
        axes.errorbar(
            rows[x].astype(float),
            rows[y].astype(float),
            yerr=errors if y == "value" and errors.any() else None,
            fmt=look.marker,
            color=look.colour,
            markerfacecolor=look.colour if index == 0 else "none",
            markersize=RC["lines.markersize"] + RING * index,
            elinewidth=1.1,
            zorder=3,
        )


def curve(axes: Axes, rows: pd.DataFrame, look: Look, x: str = "d_k") -> None:
    """The values of `rows` as a line."""
    rows = rows.sort_values(x)
    axes.plot(
        rows[x].astype(float), rows["value"], color=look.colour, linestyle=look.line, zorder=2
    )


def decades(axes: Axes) -> None:
    """A logarithmic y axis whose tick labels are plain numbers, one a decade or fewer.

    Values within a single decade get the power of ten below them too, for a label.
    """
    axes.set_yscale("log")
    low, high = (math.log10(value) for value in axes.get_ylim())
    if math.ceil(low) > high:
        low = math.floor(low)
        axes.set_ylim(bottom=10.0**low)
    powers = range(math.ceil(low), math.floor(high) + 1)
    step = -(-len(powers) // 5)
    axes.yaxis.set_major_locator(FixedLocator([10.0**power for power in powers[::step]]))
    axes.yaxis.set_major_formatter(FuncFormatter(_power_of_ten))
    axes.yaxis.set_minor_locator(NullLocator())


def _power_of_ten(value: float, _: int) -> str:
    power = round(math.log10(value))
    return f"{10.0**power:g}" if -3 <= power <= 4 else f"$10^{{{power}}}$"


def legend(
    drawn: Figure,
    looks: Sequence[Look],
    table: pd.DataFrame | None = None,
    *,
    columns: int = 3,
    marker: str = "o",
    lines: bool = True,
    exact: bool = True,
    extra: Sequence[Artist] = (),
) -> None:
    """A legend above the axes: the series, what filled and open marks stand for, and what lines do.

    `lines` says whether the series have lines, `exact` whether these lines are exact values.
    """
    handles = [
        Line2D(
            [],
            [],
            color=look.colour,
            marker=look.marker,
            linestyle=look.line if lines else "",
            label=look.label,
        )
        for look in looks
    ]
    if table is not None:
        handles += _backend_handles(table, marker)
    if lines and exact:
        handles.append(Line2D([], [], color=LIGHT.muted, label="exact"))
    handles += extra
    drawn.legend(handles=_by_rows(handles, columns), loc="upper left", ncols=columns)


def _backend_handles(table: pd.DataFrame, marker: str) -> list[Line2D]:
    pairs = sorted(set(zip(table["backend"], table["device"], strict=True)))
    return [
        Line2D(
            [],
            [],
            color=LIGHT.muted,
            marker=marker,
            linestyle="",
            markerfacecolor=LIGHT.muted if index == 0 else "none",
            markersize=RC["lines.markersize"] + RING * index,
            label=BACKEND_NAMES.get(pair, " ".join(pair)),
        )
        for index, pair in enumerate(pairs)
    ]


def _by_rows(handles: Sequence[Artist], columns: int) -> list[Artist]:
    """Matplotlib fills a legend by columns; readers read it by rows."""
    return [handle for start in range(columns) for handle in handles[start::columns]]
