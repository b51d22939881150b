"""How closed a row of attention weights is, over widths, numbers of keys and divisors.

Undivided scores have a standard deviation of sqrt(d_k), so the softmax of a row closes on one key as the width
grows; over the root the rows look the same at every width; over the width they even out towards 1 / n_keys
(Vaswani et al. 2017, section 3.2.1).
"""

from __future__ import annotations

from collections.abc import Iterator

from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.experiments import softmax_grid
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.measurement import Measurement

NAME = "saturation"

QUANTITIES = {
    "top_weight": "mean of a row's largest weight",
    "closed_share": "share of rows whose largest weight is above 0.9",
    "entropy": "mean entropy of a row's weights, in nats",
}


class Settings(softmax_grid.GridSettings):
    """Settings of the saturation experiment."""


def exact(settings: Settings) -> Iterator[Measurement]:
    """The exact means by quadrature."""
    return softmax_grid.exact(NAME, settings, QUANTITIES)


def cells(settings: Settings) -> list[Cell]:
    """The grid's cells; a target error is that of the mean largest weight."""
    return softmax_grid.cells(settings, "top_weight")


def sample(
    settings: Settings, cell: Cell, backend: Backend, draws: Draws, rows: int
) -> dict[Statistic, Array]:
    """Largest weight, whether it is above 0.9, and entropy, of each row under each divisor."""
    return softmax_grid.sample(QUANTITIES, settings, cell, backend, draws, rows)
