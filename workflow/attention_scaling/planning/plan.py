"""Estimate a study from its config and a machine's rates, and find the cells that will fall short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from attention_scaling import backends, experiments
from attention_scaling.experiments.monte_carlo import (
    LARGEST_ROW,
    PILOT_BLOCKS,
    PILOT_MARGIN,
    Cell,
    run_cell,
)
from attention_scaling.jobs import Job, jobs
from attention_scaling.planning.measuring import grid
from attention_scaling.planning.rates import Rates, kind
from attention_scaling.sampling.streams import Shard, block_sizes, number_of, runs_of_blocks
from attention_scaling.settings import Config
from attention_scaling.shards import merged

PILOT_NUMBERS = 2**19
FEWEST_PILOT_ROWS = 256

ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
"""Unit roundoff: the largest relative error of rounding to the dtype."""


@dataclass(frozen=True)
class Part:
    """All jobs of an experiment at one place ("exact", "numpy-cpu", ...)."""

    experiment: str
    place: str
    jobs: int
    rows: int
    seconds: float | None
    """Of all jobs together, without what Snakemake adds; None where no rate is known."""
    longest: float | None
    """Seconds of the longest job."""
    memory: float | None
    """Bytes that the largest job needs; None where it is not known."""

    @property
    def on_gpu(self) -> bool:
        """Whether the jobs run on a GPU."""
        return self.place.endswith("-cuda")


@dataclass(frozen=True)
class Shortfall:
    """A cell that will not be what the study asks for, and why: `SKIPPED`, `CAPPED` or `ROUNDED`."""

    experiment: str
    cell: Cell
    why: str
    needed: float = 0.0
    """Rows that would bring it to its standard error."""


SKIPPED = "skipped: a row holds more numbers than are drawn at once"
CAPPED = "more rows are needed for the standard error than the study allows"
ROUNDED = "its dtype rounds by more than the standard error: the exact mean stays out of reach"


@dataclass(frozen=True)
class Plan:
    """An estimate of a study."""

    parts: list[Part]
    shortfalls: list[Shortfall]


Variance = Callable[[Any, Any, Cell], float]
"""The variance of a cell's target quantity: of an experiment's module, its settings, and the cell."""


def plan(config: Config, rates: Rates, variance: Variance | None = None) -> Plan:
    """Estimate all jobs of the study.

    `variance` is asked about each cell that aims at a standard error; by default a few rows are drawn.
    """
    by_part: dict[tuple[str, str], list[Job]] = {}
    for job in jobs(config):
        place = "exact" if job.shard is None else f"{job.backend}-{job.device}"
        by_part.setdefault((job.experiment, place), []).append(job)
    needed = _Needed(config, variance or pilot_variance)
    parts = [
        _part(config, rates, needed, name, place, members)
        for (name, place), members in by_part.items()
    ]
    shortfalls = [short for name in config.experiments for short in needed.shortfalls(name)]
    return Plan(parts, shortfalls)


def pilot_variance(module: Any, settings: Any, cell: Cell) -> float:
    """The variance of the target quantity, from a few rows drawn with NumPy in float64."""
    rows = max(FEWEST_PILOT_ROWS, PILOT_NUMBERS // cell.numbers_per_row)
    few = replace(cell, samples=rows, dtype="float64", target_stderr=None)
    drawn = run_cell(
        module.sample,
        settings,
        few,
        backends.load("numpy"),
        seed=0,
        experiment="plan",
        shard=Shard(),
    )
    of_target = (row for row in drawn if row.measurement.quantity == cell.target_quantity)
    (found,) = merged([next(of_target)])
    return rows * found.stderr**2


class _Needed:
    """The cells of each experiment, and how many rows those need that aim at a standard error."""

    def __init__(self, config: Config, variance: Variance) -> None:
        self._config = config
        self._variance = variance
        self._rows: dict[tuple, float] = {}

    def cells(self, name: str) -> list[Cell]:
        """The experiment's cells."""
        module = experiments.get(name).module()
        return module.cells(self._settings(name)) if hasattr(module, "cells") else []

    def rows(self, name: str, cell: Cell) -> float:
        """How many rows bring the cell's target quantity to its standard error, whatever the cap."""
        key = (name, cell.method, cell.d_k, cell.n_keys, cell.rho, cell.distribution, cell.cell)
        if key not in self._rows:
            module = experiments.get(name).module()
            variance = self._variance(module, self._settings(name), cell)
            self._rows[key] = PILOT_MARGIN * variance / cell.target_stderr**2
        return self._rows[key]

    def shortfalls(self, name: str) -> Iterator[Shortfall]:
        """The experiment's cells that fall short, and why."""
        for cell in self.cells(name):
            if cell.numbers_per_row > LARGEST_ROW:
                yield Shortfall(name, cell, SKIPPED)
            elif cell.target_stderr is not None:
                if (needed := self.rows(name, cell)) > cell.samples:
                    yield Shortfall(name, cell, CAPPED, needed)
                if ROUNDOFF[cell.dtype] > cell.target_stderr:
                    yield Shortfall(name, cell, ROUNDED)

    def _settings(self, name: str) -> Any:
        return self._config.experiment(name)


def _part(
    config: Config, rates: Rates, needed: _Needed, name: str, place: str, members: list[Job]
) -> Part:
    if place == "exact":
        return _exact_part(rates, needed, name)
    if place not in rates.places:
        return Part(name, place, len(members), 0, None, None, None)
    where, start = rates.places[place], rates.start[members[0].backend]
    module = experiments.get(name).module()
    # What no rate is known of is None, and so is every sum with it.
    seconds: list[float | None] = []
    loads = [start.seconds] * len(members)
    if hasattr(module, "measure"):
        seconds.append(rates.whole.get(place, {}).get(name))
        loads[0] += seconds[-1] or 0.0
    if hasattr(module, "train"):
        seconds.append(rates.trained.get(place))
        for index, load in enumerate(_training_costs(config.experiment(name), len(members))):
            loads[index] += load * (seconds[-1] or 0.0)
    rows = widest = 0
    for cell in needed.cells(name):
        if cell.numbers_per_row > LARGEST_ROW or cell.dtype not in where.dtypes:
            continue
        rate = rates.sampled.get(place, {}).get(name, {}).get(kind(cell))
        seconds.append(rate and rate.number)
        widest = max(widest, cell.numbers_per_row)
        wanted = needed.rows(name, cell) if cell.target_stderr is not None else None
        for index, job in enumerate(members):
            kept, drawn = shard_rows(cell, where.block_rows, job.shard, wanted)
            rows += kept
            loads[index] += rate.seconds(drawn, cell.numbers_per_row) if rate else 0.0
    if None in seconds:
        return Part(name, place, len(members), rows, None, None, None)
    held = rates.held.get(place, {}).get(name)
    memory = None if held is None else start.bytes + held * max(where.tile_numbers, widest)
    return Part(name, place, len(members), rows, sum(loads), max(loads), memory)


def _exact_part(rates: Rates, needed: _Needed, name: str) -> Part:
    seconds = rates.exact.get(name)
    if seconds is None or "numpy" not in rates.start:
        return Part(name, "exact", 1, 0, None, None, None)
    start = rates.start["numpy"]
    total = start.seconds + seconds * max(1, len(grid(needed.cells(name))))
    return Part(name, "exact", 1, 0, total, total, start.bytes)


def shard_rows(cell: Cell, block_rows: int, shard: Shard, needed: float | None) -> tuple[int, int]:
    """How many rows of a cell a shard keeps, and how many it draws, pilot included.

    `needed` is how many rows its target standard error takes, None where it has none: then all are drawn.
    """
    sizes = block_sizes(cell.samples, block_rows)
    pilot = 0
    if needed is not None:
        pilot = sum(sizes[:PILOT_BLOCKS])
        sizes = sizes[: max(1, -int(-needed // block_rows))]
    runs = runs_of_blocks(len(sizes))
    mine = shard.share(len(runs), turn=number_of(cell.label))
    kept = sum(sizes[block] for run in mine for block in runs[run])
    return kept, pilot + kept


def _training_costs(settings: Any, count: int) -> list[float]:
    """The cost of the cells that each shard trains."""
    from attention_scaling.training import plan as training

    cells = training.cells(settings)
    return [sum(cell.cost for cell in training.deal(cells, Shard(i, count))) for i in range(count)]
