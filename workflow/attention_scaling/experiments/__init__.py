"""The experiments: one module each, settings and streams in, measurements out.

An experiment's module defines `Settings` (a Pydantic model: its block in the config) and `QUANTITIES` (what it
measures, with one line on each), and any of these functions:

- `exact(settings)`: measurements that need no backend: closed forms, enumeration, quadrature;
- `measure(settings, backend)`: measurements taken on a backend, all at once;
- `cells(settings)` and `sample(...)`: Monte Carlo by blocks (see `monte_carlo`), spread over shards;
- `train(settings, backend, seed, shard)`: training runs, spread over shards, merged over their seeds;
- `derive(settings, measurements)`: measurements computed from the merged ones (a slope, a root).

The registry names the modules without importing them, so that listing the jobs of a study stays quick.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType

from attention_scaling.errors import UserError


@dataclass(frozen=True)
class Experiment:
    """What the workflow must know of an experiment before any of its code runs."""

    name: str
    backends: tuple[str, ...] = ("numpy", "torch")
    exact: bool = False
    sampled: bool = False
    """Whether shards divide it: its blocks of samples, or its training runs."""
    least_shards: int = 1
    """Shards that it spreads over even where the study asks for fewer, because it takes long."""

    def shards(self, wanted: int) -> int:
        """Over how many jobs the experiment spreads when the study wants `wanted` shards."""
        return max(wanted, self.least_shards) if self.sampled else 1

    @property
    def module_name(self) -> str:
        """The dotted name of the experiment's module."""
        return f"attention_scaling.experiments.{self.name}"

    def module(self) -> ModuleType:
        """The experiment's module, imported."""
        return importlib.import_module(self.module_name)


REGISTRY: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment("variance", exact=True, sampled=True),
        Experiment("saturation", exact=True, sampled=True),
        Experiment("correlation", exact=True, sampled=True),
        Experiment("capacity", exact=True, sampled=True),
        Experiment("gradient", sampled=True),
        Experiment("precision", exact=True, sampled=True),
        Experiment("kernels", backends=("torch",)),
        Experiment("memory"),
        Experiment("cost"),
        Experiment("remedies", exact=True, sampled=True),
        Experiment("continuum", exact=True, sampled=True),
        Experiment("training", backends=("torch",), sampled=True, least_shards=2),
        Experiment("lesson_cells", exact=True),
        Experiment("lesson_designs"),
        Experiment("identities", exact=True),
        Experiment("reconstruction", exact=True),
    )
}


def get(name: str) -> Experiment:
    """The experiment `name`; `UserError` where there is none."""
    if name not in REGISTRY:
        raise UserError(f"experiment {name!r}: allowed are {', '.join(REGISTRY)}")
    return REGISTRY[name]
