"""What the two studies cost from nothing to the site, and a run that finds nothing to do: `make bench`.

Each study runs in a copy of the project. Core-seconds are split into Snakemake's own, those that jobs spend
on imports (measured by importing what each job imports, once for each kind of job), and computing.
"""

from __future__ import annotations

import csv
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORES = os.environ.get("CORES", "2")
STAGES = {
    "collect": "attention_scaling.collect",
    "judge": "attention_scaling.ledger.judging",
    "figures": "attention_scaling.figures.writing, matplotlib.pyplot",
    "pages": "attention_scaling.site.pages",
    "render": "attention_scaling.site.render",
}


def measured(command: list[str | Path], folder: Path) -> tuple[float, float, float]:
    """Wall seconds of a command, core-seconds of it with all that it starts, and of its last child alone."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    child = 0.0
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            child = core_seconds_of_child(process.pid) or child
            time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{command} failed")
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, child


def core_seconds_of_child(parent: int) -> float | None:
    """What a process's only child has used until now, without what the child's children used (Linux)."""
    try:
        (child,) = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    user, system = fields[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def imports(benchmark: Path) -> str:
    """The modules that the job of a benchmark file imports, as Python's import statement takes them."""
    if benchmark.stem in STAGES:
        return STAGES[benchmark.stem]
    exact = benchmark.parent.name == "exact"
    experiment = benchmark.stem if exact else benchmark.parent.parent.name
    modules = f"attention_scaling.experiments.job, attention_scaling.experiments.{experiment}"
    return modules + (", torch" if benchmark.parent.name.startswith("torch-cpu") else "")


def import_seconds(folder: Path, benchmarks: list[Path]) -> float:
    """Core-seconds that the jobs spent on imports."""
    kinds = [imports(benchmark) for benchmark in benchmarks]
    cost = {
        kind: measured([sys.executable, "-c", f"import {kind}"], folder)[1] for kind in set(kinds)
    }
    return sum(cost[kind] for kind in kinds)


def peak_megabytes(benchmark: Path) -> float:
    """The peak memory in a benchmark file that Snakemake wrote."""
    with benchmark.open(newline="") as file:
        return float(next(csv.DictReader(file, delimiter="\t"))["max_rss"])


def bench(name: str) -> None:
    """Measure one study and print a line on each thing measured."""
    with tempfile.TemporaryDirectory(prefix="attention-scaling-") as temporary:
        folder = Path(temporary, "project")
        made = (".git", ".venv", ".snakemake", "results", "logs", "_site", "_site.*", "_generated")
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*made))
        config = f"config/{name}.yaml"
        run = [sys.executable, "setup/workflow.py", "--config", config, "--cores", CORES]
        seconds, cores, snakemake = measured(run, folder)
        again, _, _ = measured(run, folder)
        benchmarks = sorted(folder.glob("results/benchmarks/**/*.tsv"))
        largest = max(benchmarks, key=peak_megabytes)
        importing = import_seconds(folder, benchmarks)
        print(f"{config}, {CORES} cores, {len(benchmarks)} jobs")
        print(f"  from nothing to the site  {seconds:6.1f} s, {cores:.1f} core-seconds")
        print(f"  Snakemake itself          {snakemake:6.1f} core-seconds, {snakemake / cores:.0%}")
        print(f"  imports of the jobs       {importing:6.1f} core-seconds, {importing / cores:.0%}")
        print(f"  a run with nothing to do  {again:6.1f} s")
        job = largest.relative_to(folder / "results" / "benchmarks").with_suffix("")
        print(f"  largest job               {peak_megabytes(largest):6.0f} MB, {job}", flush=True)


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = "workflow"
    for study in sys.argv[1:] or ["quick", "config"]:
        bench(study)
