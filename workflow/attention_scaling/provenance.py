"""Where numbers come from: the machine, the libraries and the code behind each job, and the study as a whole.

A job's facts travel inside its own Parquet file, so they stay with the numbers when files are copied from
machine to machine; `collect` joins them into one JSON file for the site.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

from attention_scaling.atomic import write_text

LIBRARIES = (
    "numpy",
    "scipy",
    "torch",
    "pandas",
    "pyarrow",
    "matplotlib",
    "snakemake",
    "pypandoc_binary",
)

SCHEDULER_JOB = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")
"""Environment variables by which batch systems tell a job its number."""


@dataclass(frozen=True)
class JobFacts:
    """One job: what it ran, where, with what, and what it took."""

    experiment: str
    part: str
    backend: str
    device: str
    host: str
    cpu: str
    accelerator: str | None
    scheduler_job: str | None
    python: str
    platform: str
    versions: dict[str, str]
    blas: list[str]
    threads: int
    code: str
    settings: str
    seconds: float
    peak_bytes: int


@dataclass
class JobClock:
    """Started with a job; `facts` says what the job was and took until then."""

    experiment: str
    part: str
    backend: str
    device: str
    code: str
    settings: str = ""
    started: float = field(default_factory=time.perf_counter)

    def facts(self) -> JobFacts:
        """The job's facts, wall seconds and peak resident memory up to now."""
        return JobFacts(
            experiment=self.experiment,
            part=self.part,
            backend=self.backend,
            device=self.device,
            host=socket.gethostname(),
            cpu=_cpu_model(),
            accelerator=_accelerator() if self.device == "cuda" else None,
            scheduler_job=next(filter(None, map(os.environ.get, SCHEDULER_JOB)), None),
            python=platform.python_version(),
            platform=f"{platform.system()} {platform.machine()}",
            versions=_loaded_versions(),
            blas=_blas(),
            threads=int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
            code=self.code,
            settings=self.settings,
            seconds=time.perf_counter() - self.started,
            peak_bytes=_peak_bytes(),
        )


@dataclass(frozen=True)
class Process:
    """A job's whole process as Snakemake's `benchmark:` saw it, its start and imports included."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int

    @classmethod
    def of(cls, job_file: Path) -> Process | None:
        """That of the job which wrote a file of results/; None where Snakemake did not run or measure it."""
        parts = list(job_file.with_suffix(".tsv").parts)
        for folder, name in (("exact", "exact"), ("shards", "measure")):
            if folder in parts[:-1]:
                place = parts.index(folder)
                return cls._read(Path(*parts[:place], "benchmarks", name, *parts[place + 1 :]))
        return None

    @classmethod
    def _read(cls, path: Path) -> Process | None:
        try:
            with path.open(encoding="utf-8", newline="") as file:
                row = next(csv.DictReader(file, delimiter="\t"))
            return cls(
                seconds=float(row["s"]),
                cpu_seconds=float(row["cpu_time"]),
                peak_bytes=int(float(row["max_rss"]) * 2**20),
            )
        except (
            OSError,
            StopIteration,
            KeyError,
            ValueError,
        ):  # a job too short to measure has "NA"
            return None


def encode(facts: JobFacts) -> bytes:
    """A job's facts for the metadata of its file."""
    return json.dumps(asdict(facts), sort_keys=True).encode()


def decode(data: bytes) -> JobFacts:
    """The facts that `encode` wrote; ValueError where this version's are others."""
    try:
        return JobFacts(**json.loads(data))
    except TypeError as error:
        raise ValueError("other facts than this version keeps") from error


def write_study(
    path: Path, config_path: Path, seed: int, jobs: Iterable[tuple[JobFacts, Process | None]]
) -> None:
    """Write the study's provenance: the commit, the config, the versions and every job."""
    jobs = sorted(jobs, key=lambda job: (job[0].experiment, job[0].part))
    commit, clean = _commit()
    study = {
        "commit": commit,
        "clean": clean,
        "config": str(config_path),
        "config_text": config_path.read_text(encoding="utf-8"),
        "seed": seed,
        "versions": {name: _version(name) for name in LIBRARIES},
        "python": platform.python_version(),
        "machines": sorted(
            {f"{facts.host}: {facts.accelerator or facts.cpu}" for facts, _ in jobs}
        ),
        "jobs": [
            asdict(facts) | {"process": None if process is None else asdict(process)}
            for facts, process in jobs
        ],
    }
    write_text(path, json.dumps(study, indent=1, sort_keys=True) + "\n")


def _commit(file: Path = Path(__file__)) -> tuple[str | None, bool | None]:
    """The commit of the working tree of `file` and whether it had no uncommitted change; None outside of git."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(file.parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        # An unpacked archive may lie within the checkout of something else, whose commit says nothing of it.
        git("ls-files", "--error-unmatch", file.name)
        return git("rev-parse", "HEAD"), not git("status", "--porcelain")
    except (OSError, subprocess.CalledProcessError):
        return None, None


def _loaded_versions() -> dict[str, str]:
    """Versions of the libraries that this process has imported."""
    return {name: _version(name) for name in LIBRARIES if name in sys.modules}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _blas() -> list[str]:
    import threadpoolctl

    return sorted(
        f"{pool['internal_api']} {pool['version'] or ''} {pool.get('architecture', '')} "
        f"({pool['num_threads']} thread{'s' if pool['num_threads'] > 1 else ''})".replace("  ", " ")
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _accelerator() -> str | None:
    # A job that found no GPU has not imported torch, and need not for this: it takes longer than such a job.
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Kilobytes on Linux, bytes on macOS.
    return peak if sys.platform == "darwin" else peak * 1024
