"""The cells of a training study, and which job trains which."""

from __future__ import annotations

from dataclasses import dataclass

from attention_scaling.sampling.streams import Shard
from attention_scaling.training.settings import Sweep, TrainingSettings


@dataclass(frozen=True)
class Cell:
    """What is trained in one go: one remedy at one width, in all rates of a sweep, for some seeds."""

    name: str
    sweep: Sweep
    variant: str
    d_k: int
    seeds: tuple[int, ...]

    @property
    def d_model(self) -> int:
        """The width of the heads' inputs."""
        return self.d_k if self.sweep.d_model == "d_k" else self.sweep.d_model

    @property
    def runs(self) -> int:
        """How many models are trained side by side."""
        return len(self.seeds) * len(self.sweep.rates)

    @property
    def cost(self) -> float:
        """About how long it takes, in an arbitrary unit: what grows with the widths, and calls of any width.

        The factors are measured on one core; they decide how evenly jobs are loaded, and nothing else.
        """
        per_step = self.d_k * self.d_model
        if self.variant == "additive":
            per_step *= 4
        if self.sweep.dtype == "float64":
            per_step *= 2
        calls = 3 if self.sweep.task == "recall" else 1
        return self.sweep.record_at[-1] * calls * (self.runs * per_step + 100_000)


def cells(settings: TrainingSettings) -> list[Cell]:
    """Every product of a sweep's remedies, widths and groups of seeds."""
    together = settings.seeds_together or settings.seeds
    groups = [
        tuple(range(first, min(first + together, settings.seeds)))
        for first in range(0, settings.seeds, together)
    ]
    return [
        Cell(name, sweep, variant, d_k, seeds)
        for name, sweep in settings.sweeps.items()
        for variant in sweep.variants
        for d_k in sweep.widths
        for seeds in groups
    ]


def deal(cells: list[Cell], shard: Shard) -> list[Cell]:
    """The cells of one shard: the costliest first, each to the shard that has least to do so far."""
    load = [0.0] * shard.count
    mine = []
    for cell in sorted(cells, key=lambda cell: -cell.cost):
        index = load.index(min(load))
        load[index] += cell.cost
        if index == shard.index:
            mine.append(cell)
    return mine
