"""A small study that the tests of figures and pages read: experiments at tiny sizes, by NumPy where it can."""

from __future__ import annotations

import functools
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from attention_scaling.collect import collect
from attention_scaling.experiments import REGISTRY
from attention_scaling.experiments.job import run, run_exact
from attention_scaling.figures.slices import Tables
from attention_scaling.ledger.judging import judge
from attention_scaling.ledger.loading import load_lessons
from attention_scaling.ledger.models import Lesson
from attention_scaling.ledger.verdicts import write_verdicts
from attention_scaling.sampling.streams import Shard
from attention_scaling.settings import load_config
from attention_scaling.site.pages import read_provenance
from attention_scaling.tables import write_measurements

ROOT = Path(__file__).parents[1]

WIDTHS, KEYS = [4, 64, 1024], [8, 32]

ONE_RATE = {"rates": [0.008], "record_at": [0, 4, 16]}
WIDE_INPUTS = ONE_RATE | {
    "variants": ["root", "width"],
    "widths": [16, 32, 64],
    "d_model": "d_k",
}
MATCHED = ONE_RATE | {"variants": ["root", "folded"], "widths": [8], "rate_rule": "matched"}

SWEEPS: dict[str, Any] = {
    "adam": ONE_RATE
    | {
        "variants": ["none", "root", "width", "qk_norm", "folded", "additive"],
        "widths": [8, 32, 128],
    },
    "mup": WIDE_INPUTS | {"rate_rule": "mup"},
    "fixed-rate": WIDE_INPUTS,
    "sgd": MATCHED | {"optimizer": "sgd", "dtype": "float64"},
    "adam-matched": MATCHED | {"dtype": "float64"},
    "transfer": {
        "variants": ["none", "root", "width"],
        "widths": [8, 32, 128],
        "rates": [0.004, 0.008],
        "record_at": [4],
    },
    "recall": {
        "task": "recall",
        "variants": ["none", "root", "width"],
        "widths": [8, 16],
        "rates": [0.004],
        "record_at": [0, 2, 4],
    },
}

CONFIG: dict[str, Any] = {
    "seed": 5,
    "backends": ["numpy"],
    "devices": "cpu",
    "experiments": {
        "variance": {
            "widths": WIDTHS,
            "distributions": ["gaussian", "signs", "student_t"],
            "samples": 300,
            "enumerated_widths": [2, 4],
        },
        "saturation": {"widths": WIDTHS, "key_counts": KEYS, "samples": 400},
        "capacity": {"widths": WIDTHS, "key_counts": KEYS, "samples": 400},
        "correlation": {
            "correlations": [0.0, 0.1, 0.6],
            "widths": [*WIDTHS, 256],
            "key_counts": [32],
            "samples": 400,
            "closing_key_counts": [8],
            "law_samples": 400,
        },
        "gradient": {"widths": WIDTHS, "key_counts": [32], "samples": 8, "score_samples": 40},
        "precision": {"widths": [64], "key_counts": [32], "samples": 50},
        "kernels": {"positions": 16, "d_k": 8, "dropout_runs": 50},
        "memory": {"lengths": [64, 128], "block": 32},
        "cost": {"lengths": [16, 32], "widths": [4, 16], "rounds": 2, "row_numbers": 1024},
        "reconstruction": {
            "row": [1.3639, 0.717, 0.2533, -0.0407, -0.4343, -1.8361],
            "draws": 40_000,
        },
        "remedies": {"widths": WIDTHS, "key_counts": [32], "queries": 2, "samples": 10},
        "continuum": {
            "exponents": [0.0, 0.5, 1.0],
            "correlations": [0.0, 0.3],
            "widths": WIDTHS,
            "key_counts": [32],
            "samples": 400,
        },
        "training": {
            "seeds": 3,
            "retrieval": {"n_keys": 8, "latent_width": 16, "batch": 2, "evaluation_batch": 4},
            "recall": {"batch": 4, "evaluation_batch": 8},
            "sweeps": SWEEPS,
        },
    },
}


@dataclass(frozen=True)
class Study:
    """What the figures and pages of a study are made from; `results` is its folder of tables."""

    tables: Tables
    lessons: list[Lesson]
    provenance: dict[str, Any]
    results: Path


@functools.cache
def full_study() -> Study:
    """Every experiment that pages speak of, as two backends would give it. Tests only read it."""
    folder = Path(tempfile.mkdtemp(prefix="reader-study-"))
    config_path = folder / "study.yaml"
    config_path.write_text(yaml.safe_dump(CONFIG))
    config = load_config(config_path)
    files = []
    for name in config.experiments:
        files.append(folder / f"{name}.parquet")
        run(config, name, REGISTRY[name].backends[0], "cpu", Shard(0, 1), files[-1])
        if REGISTRY[name].exact:
            files.append(folder / f"{name}-exact.parquet")
            run_exact(config, name, files[-1])
    table = _with_second_backend(collect(config, files, folder / "measurements.parquet"))
    return _study(folder, table)


@functools.cache
def study_of(experiment: str) -> Study:
    """The same study without all other experiments, as from a config that leaves them out."""
    folder = Path(tempfile.mkdtemp(prefix="reader-study-"))
    full = full_study()
    shutil.copyfile(full.results / "provenance.json", folder / "provenance.json")
    table = full.tables.measurements
    return _study(folder, table[table["experiment"] == experiment].reset_index(drop=True))


def _study(folder: Path, table: pd.DataFrame) -> Study:
    lessons = load_lessons(ROOT / "config" / "lessons")
    verdicts = judge(lessons, table, missing="skip")
    write_measurements(table, folder / "measurements.parquet")
    write_verdicts(verdicts, folder / "verdicts.parquet")
    provenance = read_provenance(folder / "provenance.json")
    return Study(Tables(table, verdicts), lessons, provenance, folder)


def _with_second_backend(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its sampled rows a second time, as if PyTorch had drawn others of the same law."""
    sampled = table[(table["stderr"] > 0) & (table["backend"] == "numpy")]
    second = sampled.assign(backend="torch", value=sampled["value"] + 0.5 * sampled["stderr"])
    return pd.concat([table, second], ignore_index=True)
