"""How long things take on one core or one GPU: a table, measured once and kept in the repository.

A row of a sampled cell costs a part that does not depend on how wide it is and a part that grows with the numbers
it holds; both are found by drawing the narrowest and the widest cell of each kind.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import NonNegativeFloat, PositiveInt

from attention_scaling.atomic import write_text
from attention_scaling.experiments.monte_carlo import Cell
from attention_scaling.validation import StrictModel, load_yaml, validate

HEADER = "# Measured by `python -m attention_scaling plan --measure`; seconds of one core, or of one GPU.\n"


class Rate(StrictModel):
    """Seconds that a row of a cell takes: `row`, and `number` for each number that the row holds."""

    row: NonNegativeFloat
    number: NonNegativeFloat

    def seconds(self, rows: float, numbers_per_row: int) -> float:
        """Seconds for so many rows."""
        return rows * (self.row + self.number * numbers_per_row)

    @classmethod
    def through(cls, narrow: tuple[int, float], wide: tuple[int, float]) -> Rate:
        """The rate through two points (numbers a row, seconds a row), neither part of it negative."""
        (few, least), (many, most) = narrow, wide
        number = max(0.0, (most - least) / (many - few)) if many > few else most / many
        row = max(0.0, least - number * few)
        return cls(row=row, number=min(number, most / many))


class Start(StrictModel):
    """What a job takes that does nothing: seconds, and bytes of memory."""

    seconds: NonNegativeFloat
    bytes: NonNegativeFloat


class Place(StrictModel):
    """A backend on a device, as far as estimates need it, so that it need not be at hand."""

    machine: str
    """The processor or GPU."""
    dtypes: list[str]
    block_rows: PositiveInt
    tile_numbers: PositiveInt


class Rates(StrictModel):
    """All rates of one machine, by place: a backend on a device, such as "numpy-cpu"."""

    places: dict[str, Place]
    submitted: NonNegativeFloat
    """Seconds that Snakemake's two starts add to a job of a cluster."""
    start: dict[str, Start]
    """By backend."""
    sampled: dict[str, dict[str, dict[str, Rate]]]
    """By place, experiment and kind of cell (`kind`)."""
    whole: dict[str, dict[str, NonNegativeFloat]]
    """By place and experiment: seconds for all that an experiment does beside its cells."""
    exact: dict[str, NonNegativeFloat]
    """By experiment: seconds that its exact values take for each cell, or all of them where it has none."""
    trained: dict[str, NonNegativeFloat]
    """By place: seconds for a unit of the cost of a cell of training."""
    held: dict[str, dict[str, NonNegativeFloat]]
    """By place on a CPU and experiment: bytes of memory for each number of a tile."""


def kind(cell: Cell) -> str:
    """What a cell's rate depends on, beside its width."""
    labels = (cell.method, cell.dtype, cell.distribution, cell.cell)
    return " ".join(label for label in labels if label is not None)


def read(path: Path) -> Rates:
    """The table at `path`; `UserError` where it is not one."""
    return validate(Rates, load_yaml(path), str(path))


def write(rates: Rates, path: Path) -> None:
    """Write the table, its numbers to three digits: they are no better than that."""
    text = yaml.safe_dump(_rounded(rates.model_dump()), sort_keys=False, width=110)
    write_text(path, HEADER + text)


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return float(f"{value:.3g}") if isinstance(value, float) else value
