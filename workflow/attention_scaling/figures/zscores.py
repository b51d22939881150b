"""How far all Monte Carlo values of the study lie from their exact values, in standard errors."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, z_scores
from attention_scaling.figures.wording import count, percent, short

EDGES = np.arange(-4.5, 4.51, 0.5)


def drawable(tables: Tables) -> bool:
    """Whether the study has Monte Carlo values whose exact values are known."""
    return len(z_scores(tables)) > 1


def draw(tables: Tables) -> Figure:
    """A histogram on the density of the standard normal distribution."""
    distances = z_scores(tables).clip(EDGES[0], EDGES[-1] - 1e-9)
    drawn, (axes,) = style.figure(height=2.7, legend_rows=1)
    heights, _ = np.histogram(distances, EDGES, density=True)
    axes.bar(
        EDGES[:-1],
        heights,
        width=0.5,
        align="edge",
        facecolor=style.LIGHT.blue,
        edgecolor=style.LIGHT.ink,
        linewidth=0.6,
        alpha=0.55,
    )
    grid = np.linspace(-4.5, 4.5, 181)
    axes.plot(grid, np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), color=style.LIGHT.orange)
    axes.set_xlabel("(measured − exact) / standard error (1)")
    axes.set_ylabel("density (1)")
    style.legend(
        drawn,
        [],
        exact=False,
        extra=[
            Patch(
                facecolor=style.LIGHT.blue,
                edgecolor=style.LIGHT.ink,
                alpha=0.55,
                label="this study",
            ),
            Line2D([], [], color=style.LIGHT.orange, label="chance (standard normal)"),
        ],
    )
    return drawn


def alt_text(tables: Tables) -> str:
    """Mean, spread and tails of the distances."""
    distances = z_scores(tables)
    return (
        f"A histogram of {count(len(distances))} distances beside the standard normal curve: mean "
        f"{short(distances.mean(), 2)}, standard deviation {short(distances.std())}, "
        f"{percent((distances.abs() > 2).mean())} percent beyond two standard errors."
    )


def caption(tables: Tables) -> str:
    """What is drawn."""
    return (
        f"Distances of {count(len(z_scores(tables)))} Monte Carlo values from their exact values, in "
        f"standard errors. Were the errors too small, the bars would spread wider than the curve; too "
        f"large, narrower. What lies beyond the axis counts in the outermost bar."
    )
