"""One job of the workflow: an experiment on one backend and device, one shard of it, into one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attention_scaling import backends, experiments, shards
from attention_scaling.experiments.monte_carlo import run_cell
from attention_scaling.heap import keep_freed, map_arrays_above
from attention_scaling.imports import code_digest
from attention_scaling.measurement import Measurement
from attention_scaling.progress import Progress
from attention_scaling.provenance import JobClock
from attention_scaling.sampling.streams import Shard
from attention_scaling.settings import Config
from attention_scaling.shards import ShardRow

TILE_BYTES = backends.TILE_NUMBERS["cpu"] * 8 + 4096
"""A tile of float64 numbers, with a page for the allocator's own."""

FREED_BYTES = 1 << 25
"""What quadrature may keep: its arrays are of some 100 kB, and a dozen at a time."""


def run_exact(config: Config, name: str, output: Path) -> None:
    """Write the experiment's exact values: what needs no backend and no sampling."""
    clock = _clock(config, name, "exact", "numpy", "cpu")
    keep_freed(FREED_BYTES)
    settings = config.experiment(name)
    shards.write(output, map(ShardRow, experiments.get(name).module().exact(settings)), clock)


def run(config: Config, name: str, backend: str, device: str, shard: Shard, output: Path) -> None:
    """Write what the experiment measures on `backend` and `device`: shard 0 all that is not sampled, each
    shard its own blocks. On a machine without the device, one row with the reason.
    """
    part = f"{backend}-{device} {shard.index} of {shard.count}"
    clock = _clock(config, name, part, backend, device)
    try:
        loaded = backends.load(backend, device)
    except backends.UnavailableError as reason:
        rows = [_unavailable(name, backend, device, str(reason))] if shard.index == 0 else []
        shards.write(output, rows, clock)
        return
    shards.write(output, _rows(config, name, loaded, shard), clock)


def _clock(config: Config, name: str, part: str, backend: str, device: str) -> JobClock:
    code = code_digest(experiments.get(name).module_name, __name__)
    return JobClock(name, part, backend, device, code, config.digest(name))


def _rows(config: Config, name: str, backend: backends.Backend, shard: Shard) -> Iterator[ShardRow]:
    settings = config.experiment(name)
    module = experiments.get(name).module()
    if shard.index == 0 and hasattr(module, "measure"):
        yield from map(ShardRow, module.measure(settings, backend))
    if hasattr(module, "train"):
        yield from module.train(settings, backend, seed=config.study.seed, shard=shard)
    if not hasattr(module, "cells"):
        return
    if backend.name == "torch":
        map_arrays_above(TILE_BYTES)
    cells = module.cells(settings)
    planned = sum(cell.samples for cell in cells) // shard.count
    with Progress(f"{name} {backend.name} {backend.device}", planned, "rows") as progress:
        for cell in cells:
            yield from run_cell(
                module.sample,
                settings,
                cell,
                backend,
                seed=config.study.seed,
                experiment=name,
                shard=shard,
                advance=progress.advance,
            )


def _unavailable(name: str, backend: str, device: str, reason: str) -> ShardRow:
    return ShardRow(
        Measurement(
            experiment=name,
            quantity="all",
            method="skipped",
            backend=backend,
            device=device,
            skipped=reason,
        )
    )
