"""A SLURM for the tests of this folder, and runs of the workflow that go through it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from slurm import Cluster, eventually, missing

PLUGINS = Path(sys.prefix, "cluster")
PATIENCE_SECONDS = 240
# Snakemake asks for the state of jobs after so many seconds, and 10 s more each time that none has ended.
OPTIONS = ("--slurm-init-seconds-before-status-checks", "1")


class Run:
    """What `make report PROFILE=slurm` does, in the background."""

    def __init__(self, project, *options: str) -> None:
        command = project.command(project.tiny, 2, "--profile", "slurm", *OPTIONS, *options)
        self._said = project.folder.with_suffix(".txt")
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                command, cwd=project.folder, env=project.environment, stdout=said, stderr=said
            )
        self._lock = project.path(".snakemake/run.lock")

    @property
    def said(self) -> str:
        return self._said.read_text()

    @property
    def name(self) -> str:
        """The name of the run's jobs with SLURM."""
        return self._lock.read_text().split()[1]

    def wait(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)

    def wait_until_it_says(self, pattern: str) -> None:
        def said() -> bool:
            assert self.process.poll() is None, f"ended before saying {pattern}: {self.said}"
            return re.search(pattern, self.said) is not None

        assert eventually(said, PATIENCE_SECONDS), f"does not say {pattern}: {self.said}"

    def kill(self) -> None:
        """Kill the run and its Snakemake, so that neither can clear up."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self.process.kill()  # before the others, whose end it would notice
        for child in map(int, children):
            os.kill(child, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    if absent := missing():
        pytest.skip(f"no SLURM here: {', '.join(absent)} not found; .ci/run installs it")
    if not PLUGINS.is_dir():
        pytest.skip(
            f"Snakemake's executors for clusters are not in {PLUGINS}; make test installs them"
        )
    with Cluster(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture(scope="session")
def clone(cluster, finished, tmp_path_factory):
    """Make a clone of the project whose runs find the cluster."""

    def cloned(name: str):
        project = type(finished).cloned(tmp_path_factory.mktemp(name) / "project")
        path = os.pathsep.join([str(Path(sys.executable).parent), cluster.environment["PATH"]])
        project.environment |= cluster.environment | {"PATH": path, "PYTHONPATH": str(PLUGINS)}
        # Every job starts Snakemake twice, which must not compile itself each time.
        project.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return project

    return cloned


@pytest.fixture(scope="session")
def start(cluster):
    """Start a run through the cluster; one that still lives in the end is killed."""
    runs = []

    def started(project, *options: str) -> Run:
        runs.append(Run(project, *options))
        return runs[-1]

    yield started
    for run in runs:
        if run.process.poll() is None:
            run.kill()
