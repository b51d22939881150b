"""The jobs of a study: what one process runs, and the file it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attention_scaling import experiments
from attention_scaling.sampling.streams import Shard
from attention_scaling.settings import Config


@dataclass(frozen=True)
class Job:
    """One experiment's exact values (`shard` is None), or one shard of it on one backend and device."""

    experiment: str
    backend: str = "numpy"
    device: str = "cpu"
    shard: Shard | None = None

    @property
    def file(self) -> str:
        """Where the workflow has the job write, relative to the project's folder."""
        if self.shard is None:
            return f"results/exact/{self.experiment}.parquet"
        place = f"{self.experiment}/{self.backend}-{self.device}"
        return f"results/shards/{place}/{self.shard.index}-of-{self.shard.count}.parquet"


def jobs(config: Config) -> Iterator[Job]:
    """All jobs of the study, experiment by experiment."""
    for name in config.experiments:
        experiment = experiments.get(name)
        if experiment.exact:
            yield Job(name)
        shards = experiment.shards(config.study.shards)
        for backend in config.study.backends:
            if backend in experiment.backends:
                for device in config.devices(backend):
                    for index in range(shards):
                        yield Job(name, backend, device, Shard(index, shards))
