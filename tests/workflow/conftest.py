"""A copy of the project in which tests run the workflow, edit files and break things."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TINY = "tests/workflow/tiny.yaml"
MADE = shutil.ignore_patterns(
    *(".git", ".venv", ".snakemake", "results", "logs", "_site", "_site.*", "_generated"),
    *("_variables.yml", ".quarto", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis"),
)


class Workspace:
    """A copy of the project, and what a user can do in it."""

    tiny = TINY
    ledger = "tests/workflow/lessons/tiny.yaml"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = os.environ | {"PATH": path}

    @classmethod
    def cloned(cls, folder: Path) -> Workspace:
        """The project as cloned, in a new folder."""
        shutil.copytree(ROOT, folder, ignore=MADE)
        return cls(folder)

    def path(self, name: str) -> Path:
        return self.folder / name

    def command(self, config: str = TINY, cores: int = 2, *options: str) -> list[str]:
        """The command that `make report` runs."""
        script = ["setup/workflow.py", "--config", config, "--cores", str(cores)]
        return [sys.executable, *script, *options]

    def run(self, *options: str, config: str = TINY, cores: int = 2) -> subprocess.CompletedProcess:
        """What `make report` does; all output is in `stdout`."""
        return self.call(self.command(config, cores, *options))

    def snakemake(self, *options: str) -> subprocess.CompletedProcess:
        """Snakemake without make, on the tiny study unless the options name another."""
        config = [] if "--configfile" in options else ["--configfile", TINY]
        return self.call([sys.executable, "-m", "snakemake", "--cores", "2", *config, *options])

    def planned(self, config: str = TINY) -> set[str]:
        """The messages of the jobs that a run would start now, but for the one that ends every run."""
        dry = self.run("--dry-run", config=config)
        assert dry.returncode == 0, dry.stdout
        jobs = set(re.findall(r"^Job \d+: (.*)$", dry.stdout, re.MULTILINE))
        assert bool(jobs) != ("Nothing to be done" in dry.stdout), dry.stdout
        return jobs - {"everything is up to date"}

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace the one place in a file where `old` stands."""
        path = self.path(name)
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        path.write_text(text.replace(old, new))

    def contents(self, name: str) -> dict[str, bytes]:
        """All files of a folder but the hidden ones, by their path in it."""
        folder = self.path(name)
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in files
            if not path.name.startswith(".")
        }

    def call(self, command: list[str]) -> subprocess.CompletedProcess:
        """Run a command in the project; all output is in `stdout`."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )


@pytest.fixture
def fresh(tmp_path) -> Workspace:
    """The project as cloned."""
    return Workspace.cloned(tmp_path / "project")


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Workspace:
    """The project after a run of the tiny study. Not to be changed: `workspace` is a copy to work in."""
    project = Workspace.cloned(tmp_path_factory.mktemp("workflow") / "project")
    run = project.run()
    assert run.returncode == 0, run.stdout
    return project


@pytest.fixture
def workspace(finished, tmp_path) -> Workspace:
    """A copy of the finished study."""
    shutil.copytree(finished.folder, tmp_path / "project", symlinks=True)
    return Workspace(tmp_path / "project")
