"""Measure the rates of this machine, with the cells of a study."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from attention_scaling import backends, experiments
from attention_scaling.backends import Backend
from attention_scaling.experiments.monte_carlo import Cell, run_cell
from attention_scaling.planning.rates import Place, Rate, Rates, Start, kind
from attention_scaling.provenance import JobClock
from attention_scaling.sampling.streams import Shard
from attention_scaling.settings import Config, load_config

MOST_NUMBERS = 2**21
"""The widest row that is timed: wider ones are taken to cost as much a number."""

LEAST_SECONDS = 0.1
FEWEST_HELD = 2**22

GRID = ("widths", "key_counts", "correlations", "exponents", "enumerated_widths", "lengths")
"""Lists of settings of which the ends stand for the whole, where it is only about time."""

# A start of Snakemake, and of a job on each backend, by what they import.
SNAKEMAKE = "import snakemake.cli"
STARTS = {
    name: "from attention_scaling import backends, cli, settings;"
    f" from attention_scaling.experiments import job, saturation; backends.load('{name}')"
    for name in backends.NAMES
}


def measure(config: Config, say: Callable[[str], None] = lambda text: None) -> Rates:
    """The rates of this machine for the experiments of `config`; `say` is told what is measured.

    Places that this machine has not are left out. On the CPU, processor time counts, so that other work on the
    machine does not.
    """
    places = dict(_places(config))
    found: dict[str, Any] = {
        "places": {place: _place(backend) for place, backend in places.items()},
        "submitted": 2 * _start(SNAKEMAKE).seconds,
        "start": {name: _start(code) for name, code in STARTS.items()},
        "sampled": {place: {} for place in places},
        "whole": {place: {} for place in places},
        "exact": {},
        "trained": {},
        "held": {},
    }
    for name in config.experiments:
        experiment = experiments.get(name)
        module, settings = experiment.module(), _ends(config.experiment(name))
        cells = module.cells(settings) if hasattr(module, "cells") else []
        if experiment.exact:
            say(f"{name}: exact values")
            seconds = _seconds(partial(_exhaust, module.exact, settings))
            found["exact"][name] = seconds / max(1, len(grid(cells)))
        for place, backend in places.items():
            if backend.name not in experiment.backends:
                continue
            say(f"{name}: {place}")
            clock = time.perf_counter if backend.device == "cuda" else time.process_time
            if hasattr(module, "measure"):
                whole = _seconds(partial(_exhaust, module.measure, settings, backend), clock)
                found["whole"][place][name] = whole
            if hasattr(module, "train"):
                found["trained"][place] = _trained(module, settings, backend, clock)
            if cells:
                found["sampled"][place][name] = dict(
                    _sampled(module, settings, cells, backend, clock)
                )
            if cells and backend.device == "cpu":
                found["held"].setdefault(place, {})[name] = _held(config, name, backend)
    return Rates(**found)


def grid(cells: Iterable[Cell]) -> set[tuple]:
    """The places of a grid on which the cells lie, whatever they are drawn with."""
    return {(cell.d_k, cell.n_keys, cell.rho) for cell in cells}


def _places(config: Config) -> Iterator[tuple[str, Backend]]:
    for name in config.study.backends:
        for device in config.devices(name):
            try:
                yield f"{name}-{device}", backends.load(name, device)
            except backends.UnavailableError:
                continue


def _place(backend: Backend) -> Place:
    facts = JobClock("plan", "all", backend.name, backend.device, code="").facts()
    return Place(
        machine=facts.accelerator or facts.cpu,
        dtypes=_dtypes(backend),
        block_rows=backend.block_rows,
        tile_numbers=backend.tile_numbers,
    )


def _dtypes(backend: Backend) -> list[str]:
    return [name for name in backends.DTYPES if hasattr(backend.xp, name)]


def _ends(settings: Any) -> Any:
    """The settings with the first and last of each list of sizes alone."""
    sizes = {name: getattr(settings, name, None) for name in GRID}
    return settings.model_copy(
        update={name: [*values[:1], *values[1:][-1:]] for name, values in sizes.items() if values}
    )


def _start(code: str) -> Start:
    """What a Python takes that imports what `code` says: processor seconds, and its peak of memory."""
    tell = f"{code}; import time; from {__name__} import _status"
    tell += "; print(time.process_time(), _status('VmHWM'))"
    told = sorted(tuple(map(float, _told(tell).split())) for _ in range(3))
    return Start(seconds=told[1][0], bytes=told[1][1])


def _told(code: str) -> str:
    """What a Python prints that does what the code says."""
    command = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def _seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    started = clock()
    work()
    return clock() - started


def _exhaust(generator: Callable[..., Iterable], *arguments: Any, **options: Any) -> None:
    for _ in generator(*arguments, **options):
        pass


def _sampled(
    module: Any, settings: Any, cells: list[Cell], backend: Backend, clock: Callable[[], float]
) -> Iterator[tuple[str, Rate]]:
    by_kind: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.numbers_per_row <= MOST_NUMBERS and cell.dtype in _dtypes(backend):
            by_kind.setdefault(kind(cell), []).append(cell)
    for name, alike in by_kind.items():
        alike.sort(key=lambda cell: cell.numbers_per_row)
        points = [
            (cell.numbers_per_row, _seconds_a_row(module, settings, cell, backend, clock))
            for cell in (alike[0], alike[-1])
        ]
        yield name, Rate.through(*points)


def _seconds_a_row(
    module: Any, settings: Any, cell: Cell, backend: Backend, clock: Callable[[], float]
) -> float:
    """Seconds that a row takes, drawn as jobs draw it: tiles of a block, and as many as time asks for."""
    rows = min(backend.block_rows, max(1, backend.tile_numbers // cell.numbers_per_row))
    _draw(
        module, settings, cell, backend, rows
    )  # what the first call loads or compiles does not count
    while True:
        seconds = _seconds(partial(_draw, module, settings, cell, backend, rows), clock)
        if seconds > LEAST_SECONDS:
            return seconds / rows
        rows *= 4


def _draw(module: Any, settings: Any, cell: Cell, backend: Backend, rows: int) -> None:
    few = replace(cell, samples=rows, target_stderr=None)
    _exhaust(
        partial(run_cell, module.sample, settings, few, backend),
        seed=1,
        experiment="plan",
        shard=Shard(),
    )


def _held(config: Config, name: str, backend: Backend) -> float:
    """Bytes by which memory grows for each number of a tile, in a process of its own, where nothing was freed."""
    code = f"from {__name__} import tell_growth; tell_growth(*{(str(config.path), name, backend.name)!r})"
    return float(_told(code))


def tell_growth(config_path: str, name: str, backend_name: str) -> None:
    """Print what `_held` says; for a process that does nothing else."""
    backend = backends.load(backend_name)
    module = experiments.get(name).module()
    settings = _ends(load_config(config_path).experiment(name))
    cells = sorted(module.cells(settings), key=lambda cell: cell.numbers_per_row)
    worst, before = 0.0, _status("VmRSS")
    for cell in {kind(cell): cell for cell in cells if cell.dtype in _dtypes(backend)}.values():
        # Enough numbers to stand out against what a process holds anyway.
        tile = max(1, FEWEST_HELD // cell.numbers_per_row)
        large = replace(backend, tile_numbers=tile * cell.numbers_per_row)
        _draw(module, settings, cell, large, tile)
        worst = max(worst, (_status("VmHWM") - before) / large.tile_numbers)
    print(worst)


def _status(name: str) -> int:
    """A figure of /proc/self/status, in bytes. What getrusage says, a process inherits from its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _trained(module: Any, settings: Any, backend: Backend, clock: Callable[[], float]) -> float:
    """Seconds a unit of cost: all sweeps' first remedy at its narrowest and widest, for a few steps."""
    from attention_scaling.training import plan

    sweeps = {
        name: sweep.model_copy(
            update={
                "variants": sweep.variants[:1],
                "widths": [*sweep.widths[:1], *sweep.widths[1:][-1:]],
                "record_at": [8],
            }
        )
        for name, sweep in settings.sweeps.items()
    }
    few = settings.model_copy(update={"sweeps": sweeps, "seeds": 2, "seeds_together": None})
    cost = sum(cell.cost for cell in plan.cells(few))
    train = partial(_exhaust, module.train, few, backend, seed=1, shard=Shard())
    return _seconds(train, clock) / cost
