"""Monte Carlo by blocks: the loop that every sampled experiment shares.

An experiment lists its `Cell`s and offers `sample(settings, cell, backend, draws, rows)`, which draws `rows`
independent rows and returns one number a row for each `Statistic`. This module decides how many blocks a cell
has, seeds each block's stream, cuts a block into tiles that stay in cache, and keeps each block's moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from attention_scaling.backends import Array, Backend, Draws, UnavailableError
from attention_scaling.measurement import Measurement
from attention_scaling.moments import Moments, merge
from attention_scaling.sampling.streams import (
    Shard,
    block_seed,
    block_sizes,
    number_of,
    runs_of_blocks,
)
from attention_scaling.shards import ShardRow

PILOT_BLOCKS = 4
"""Blocks from which a cell that aims at a standard error foresees how many it needs."""

PILOT_MARGIN = 1.1
"""The variance seen in the pilot is taken this much larger, since it is an estimate itself."""


LARGEST_ROW = 2**25
"""Most numbers of one row, 256 MB in float64: a wider row would break the bound on a job's memory."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of an experiment's grid, its labels as in the measurement table.

    `numbers_per_row` is how many numbers one row holds in memory, which sets the size of a tile.
    `samples` is how many rows are drawn; with `target_stderr`, at most so many, until the mean of
    `target_quantity` (the first statistic of that name) is known to that standard error.
    """

    method: str
    samples: int
    numbers_per_row: int
    dtype: str = "float64"
    d_k: int | None = None
    n_keys: int | None = None
    rho: float | None = None
    distribution: str | None = None
    cell: str | None = None
    target_stderr: float | None = None
    target_quantity: str | None = None

    @property
    def label(self) -> str:
        """What names the cell's streams: what it is, not how much of it is drawn."""
        labels = asdict(self)
        for size in ("samples", "numbers_per_row", "target_stderr", "target_quantity"):
            del labels[size]
        return ",".join(f"{name}={value}" for name, value in labels.items() if value is not None)


@dataclass(frozen=True)
class Statistic:
    """What is averaged over a cell's rows."""

    quantity: str
    divisor: str | None = None
    variant: str | None = None
    unit: str = "1"


Sample = Callable[[Any, Cell, Backend, Draws, int], dict[Statistic, Array]]


def run_cell(
    sample: Sample,
    settings: Any,
    cell: Cell,
    backend: Backend,
    *,
    seed: int,
    experiment: str,
    shard: Shard,
    advance: Callable[[int], None] = lambda rows: None,
) -> Iterator[ShardRow]:
    """Draw this shard's part of `cell`: a row for each statistic and run of blocks.

    `advance` is told the rows of each block done. A cell that cannot be drawn gives one row with the reason.
    """
    labels = Measurement(
        experiment=experiment,
        quantity="",
        method=cell.method,
        backend=backend.name,
        device=backend.device,
        dtype=cell.dtype,
        d_k=cell.d_k,
        n_keys=cell.n_keys,
        rho=cell.rho,
        distribution=cell.distribution,
        cell=cell.cell,
    )
    if (reason := _why_not(cell, backend)) is not None:
        if shard.index == 0:
            yield ShardRow(replace(labels, quantity="all", skipped=reason))
        return

    def block(index: int, rows: int) -> dict[Statistic, Moments]:
        draws = backend.draws(block_seed(seed, experiment, cell.label, index))
        moments = _block_moments(sample, settings, cell, backend, draws, rows)
        advance(rows)
        return moments

    sizes = block_sizes(cell.samples, backend.block_rows)
    capped = None
    if cell.target_stderr is not None:
        sizes, capped = _planned_sizes(cell, backend, sizes, block)
    runs = runs_of_blocks(len(sizes))
    found: dict[Statistic, list[tuple[int, Moments]]] = {}
    for run in shard.share(len(runs), turn=number_of(cell.label)):
        total: dict[Statistic, Moments] = {}
        for index in runs[run]:
            for statistic, moments in block(index, sizes[index]).items():
                total[statistic] = total.get(statistic, Moments()) + moments
        for statistic, moments in total.items():
            found.setdefault(statistic, []).append((run, moments))
    for statistic, moments_by_run in found.items():
        row = replace(
            labels,
            quantity=statistic.quantity,
            divisor=statistic.divisor,
            variant=statistic.variant,
            unit=statistic.unit,
            note=capped,
        )
        for run, moments in moments_by_run:
            yield ShardRow(row, run, _on_host(moments))


def _why_not(cell: Cell, backend: Backend) -> str | None:
    """Why a cell cannot be drawn on this backend; None where it can."""
    if cell.numbers_per_row > LARGEST_ROW:
        return (
            f"one row holds {cell.numbers_per_row} numbers when it is drawn {cell.method}; "
            f"at most {LARGEST_ROW} are drawn at once"
        )
    try:
        backend.dtype(cell.dtype)
    except UnavailableError as reason:
        return str(reason)
    return None


def _block_moments(
    sample: Sample, settings: Any, cell: Cell, backend: Backend, draws: Draws, rows: int
) -> dict[Statistic, Moments]:
    """The moments of each statistic over a block, as scalars that stay on the device.

    The block is drawn tile by tile, so that what a row holds stays in cache; only one number a row is kept.
    """
    xp = backend.xp
    tile_rows = max(1, backend.tile_numbers // cell.numbers_per_row)
    tiles: dict[Statistic, list[Array]] = {}
    for start in range(0, rows, tile_rows):
        tile = sample(settings, cell, backend, draws, min(tile_rows, rows - start))
        for statistic, values in tile.items():
            tiles.setdefault(statistic, []).append(values)
    moments = {}
    for statistic, parts in tiles.items():
        values = parts[0] if len(parts) == 1 else xp.concat(parts)
        mean = xp.mean(values)
        values = values - mean
        moments[statistic] = Moments(rows, mean, xp.sum(values * values))
    return moments


def _on_host(moments: Moments) -> Moments:
    return Moments(moments.count, float(moments.mean), float(moments.m2))


def _planned_sizes(
    cell: Cell,
    backend: Backend,
    sizes: list[int],
    block: Callable[[int, int], dict[Statistic, Moments]],
) -> tuple[list[int], str | None]:
    """The blocks that bring the target quantity to its standard error, foreseen from the first few.

    Every shard draws the same pilot blocks and so plans the same number. Returns the sizes of the blocks to
    draw and, where even all of them fall short, the reason.
    """
    pilot: list[Moments] = []
    for index, rows in enumerate(sizes[:PILOT_BLOCKS]):
        of_target = (
            moments
            for statistic, moments in block(index, rows).items()
            if statistic.quantity == cell.target_quantity
        )
        pilot.append(_on_host(next(of_target)))
    drawn = merge(pilot)
    if drawn.count < 2:
        return sizes, f"stopped at the cap of {cell.samples} rows, which have no standard error"
    needed_rows = PILOT_MARGIN * drawn.variance / cell.target_stderr**2
    needed = max(1, math.ceil(needed_rows / backend.block_rows))
    if needed <= len(sizes):
        return sizes[:needed], None
    return sizes, (
        f"stopped at the cap of {cell.samples} rows; a standard error of {cell.target_stderr:g} "
        f"needs about {needed_rows:.2g}"
    )
