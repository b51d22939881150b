"""Whether a plan's estimates hold: how far processor seconds of real jobs are from those foreseen."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from attention_scaling.bench.record import Benchmark
from attention_scaling.bench.timing import Ratio
from attention_scaling.planning.measuring import measure as measure_rates
from attention_scaling.planning.plan import plan
from attention_scaling.settings import load_config

SIZES = {"small": 20_000, "middle": 200_000, "large": 1_000_000}
WITHIN = 2.0


def measure() -> Iterator[Benchmark]:
    """One benchmark a size; the rates are measured first, since others may have been at work at another time."""
    with tempfile.TemporaryDirectory(prefix="attention-scaling-") as folder:
        configs = {name: _study(Path(folder), samples) for name, samples in SIZES.items()}
        rates = measure_rates(load_config(configs["small"]))
        for name, path in configs.items():
            (part,) = (
                part for part in plan(load_config(path), rates).parts if part.place != "exact"
            )
            ratio = _job_seconds(path) / part.seconds
            apart = max(ratio, 1 / ratio)
            yield Benchmark.ratio(
                f"plan_{name}",
                f"processor time of a job and the plan's estimate, {SIZES[name]:,} rows a cell, NumPy",
                Ratio(apart, apart, apart),
                at_most=WITHIN,
                bound_by="rates of the narrowest and the widest cell, taken for all",
            )


def _study(folder: Path, samples: int) -> Path:
    path = folder / f"{samples}.yaml"
    block = {"widths": [4, 64, 1024], "key_counts": [8, 32, 512], "samples": samples}
    study = {"seed": 1, "backends": ["numpy"], "experiments": {"saturation": block}}
    path.write_text(yaml.safe_dump(study))
    return path


def _job_seconds(config: Path) -> float:
    """Processor seconds of the one sampled job of the study."""
    command = [sys.executable, "-m", "attention_scaling", "run", "saturation"]
    output = config.with_suffix(".parquet")
    process = subprocess.Popen(
        [*command, "--config", config, "--output", output], stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime
