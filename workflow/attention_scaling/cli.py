"""The command line: one subcommand a stage of the pipeline, and the tools for people around it.

Each stage imports what it needs when it runs, so that listing the help or running a short job stays quick.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from attention_scaling.errors import UserError

DEFAULT_CONFIG = Path("config/config.yaml")
RESULTS = Path("results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status (2 for bad input, with one line on standard error)."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options) or 0
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m attention_scaling", description=__doc__)
    stages = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")

    def stage(name: str, run: Callable, help: str) -> argparse.ArgumentParser:
        added = stages.add_parser(name, help=help, description=help)
        added.add_argument(
            "--config",
            type=Path,
            default=DEFAULT_CONFIG,
            help="study to run (default: %(default)s)",
        )
        added.set_defaults(run=run)
        return added

    stage("validate", _validate, "check the configuration and the ledger")

    run = stage("run", _run, "run one experiment on one backend and device")
    run.add_argument("experiment")
    run.add_argument("--backend", default="numpy")
    run.add_argument("--device", default="cpu")
    run.add_argument("--shard", default="0/1", help="INDEX/COUNT, counted from 0")
    run.add_argument("--output", type=Path, required=True)

    exact = stage("exact", _exact, "compute one experiment's exact values")
    exact.add_argument("experiment")
    exact.add_argument("--output", type=Path, required=True)

    collect = stage("collect", _collect, "join the jobs' files into the measurement table")
    collect.add_argument("files", nargs="+", type=Path)
    collect.add_argument("--output", type=Path, default=RESULTS / "measurements.parquet")
    return parser


def _validate(options: argparse.Namespace) -> None:
    from attention_scaling.settings import check_config

    config = check_config(options.config)
    print(f"{options.config}: valid, {len(config.experiments)} experiments")


def _run(options: argparse.Namespace) -> None:
    from attention_scaling.experiments.job import run
    from attention_scaling.sampling.streams import Shard
    from attention_scaling.settings import load_config

    run(
        load_config(options.config),
        options.experiment,
        options.backend,
        options.device,
        Shard.parse(options.shard),
        options.output,
    )


def _exact(options: argparse.Namespace) -> None:
    from attention_scaling.experiments.job import run_exact
    from attention_scaling.settings import load_config

    run_exact(load_config(options.config), options.experiment, options.output)


def _collect(options: argparse.Namespace) -> None:
    from attention_scaling.collect import collect
    from attention_scaling.settings import load_config

    collect(load_config(options.config), options.files, options.output)
