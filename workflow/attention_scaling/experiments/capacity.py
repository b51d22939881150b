"""How much gradient a row of attention weights lets through: measures of the softmax Jacobian.

The Jacobian of a = softmax(s) is diag(a) - a a^T. Its trace, 1 - sum a^2, is the sum of its eigenvalues and
the most natural single number for how much can pass; its largest entry is the largest a (1 - a), its operator
norm the largest eigenvalue.
"""

from __future__ import annotations

from collections.abc import Iterator

from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.experiments import softmax_grid
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.measurement import Measurement

NAME = "capacity"

QUANTITIES = {
    "capacity": "mean trace of the softmax Jacobian, 1 - sum a^2",
    "top_derivative": "mean of a row's largest a (1 - a)",
    "top_eigenvalue": "mean of the largest eigenvalue of the softmax Jacobian",
}


class Settings(softmax_grid.GridSettings):
    """Settings of the gradient-capacity experiment."""


def exact(settings: Settings) -> Iterator[Measurement]:
    """The exact means by quadrature; none is known for the largest eigenvalue."""
    return softmax_grid.exact(NAME, settings, ("capacity", "top_derivative"))


def cells(settings: Settings) -> list[Cell]:
    """The grid's cells; a target error is that of the mean capacity."""
    return softmax_grid.cells(settings, "capacity")


def sample(
    settings: Settings, cell: Cell, backend: Backend, draws: Draws, rows: int
) -> dict[Statistic, Array]:
    """Trace, largest diagonal entry and largest eigenvalue of each row's Jacobian under each divisor."""
    return softmax_grid.sample(QUANTITIES, settings, cell, backend, draws, rows)
