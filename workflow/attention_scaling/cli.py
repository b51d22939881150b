"""The command line: one subcommand a stage of the pipeline, and the tools for people around it.

Each stage imports what it needs when it runs, so that listing the help or running a short job stays quick.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attention_scaling.errors import UserError

if TYPE_CHECKING:
    from attention_scaling.figures.slices import Tables
    from attention_scaling.ledger.models import Lesson
    from attention_scaling.settings import Config

DEFAULT_CONFIG = Path("config/config.yaml")
MEASUREMENTS = Path("results/measurements.parquet")
VERDICTS = Path("results/verdicts.parquet")
RATES = Path("config/rates.yaml")
PROVENANCE = Path("results/provenance.json")
REPORTS = Path("reports")
SITE = REPORTS / "_site"
BENCHMARKS = REPORTS / "bench" / "ratios.csv"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status (2 for bad input, with one line on standard error)."""
    _take_any_output()
    options = _parser().parse_args(arguments)
    try:
        status = options.run(options) or 0
        sys.stdout.flush()
        return status
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _take_any_output() -> None:
    """Let standard output take whatever is printed, though it be closed or its encoding lack a letter."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m attention_scaling",
        description=__doc__.partition("\n")[0],
        epilog="STAGE --help tells each stage's options.",
    )
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

    plan = stage("plan", _plan, "say what the study takes: jobs, samples, hours, memory")
    plan.add_argument("--rates", type=Path, default=RATES, help="(default: %(default)s)")
    plan.add_argument(
        "--measure", action="store_true", help="measure this machine's rates first, and keep them"
    )
    plan.add_argument("--cells", action="store_true", help="list every cell that falls short")

    run = stage("run", _run, "run one experiment on one backend and device")
    run.add_argument("experiment", help="one of the study's")
    run.add_argument("--backend", default="numpy", help="numpy or torch (default: %(default)s)")
    run.add_argument("--device", default="cpu", help="cpu or cuda (default: %(default)s)")
    run.add_argument("--shard", default="0/1", help="INDEX/COUNT, counted from 0")
    run.add_argument("--output", type=Path, required=True, help="the job's file, for `collect`")

    exact = stage("exact", _exact, "compute one experiment's exact values")
    exact.add_argument("experiment", help="one of the study's")
    exact.add_argument("--output", type=Path, required=True, help="the job's file, for `collect`")

    collect = stage("collect", _collect, "join the jobs' files into the measurement table")
    collect.add_argument(
        "files",
        nargs="*",
        type=Path,
        help="what `run` and `exact` wrote (default: all of the study's)",
    )
    collect.add_argument("--output", type=Path, default=MEASUREMENTS, help="(default: %(default)s)")

    judge = stage("judge", _judge, "hold the lessons' claims against the measurements")
    judge.add_argument("--measurements", type=Path, default=MEASUREMENTS)
    judge.add_argument("--output", type=Path, default=VERDICTS)

    verify = stage("verify", _verify, "fail if a verdict is not the expected one, with the list")
    verify.add_argument("--verdicts", type=Path, default=VERDICTS)

    figures = stage("figures", _figures, "draw the figures from the tables")
    pages = stage("pages", _pages, "write the pages' numbers, tables and downloads")
    for made_from_tables in (figures, pages):
        made_from_tables.add_argument("--measurements", type=Path, default=MEASUREMENTS)
        made_from_tables.add_argument("--verdicts", type=Path, default=VERDICTS)
    figures.add_argument("--output", type=Path, default=REPORTS / "_generated" / "figures")
    pages.add_argument("--provenance", type=Path, default=PROVENANCE)
    pages.add_argument("--benchmarks", type=Path, default=BENCHMARKS)
    pages.add_argument("--reports", type=Path, default=REPORTS)

    render = stage("render", _render, "render the site, check it, and put it in place")
    render.add_argument("--reports", type=Path, default=REPORTS)
    render.add_argument("--output", type=Path, default=SITE)
    render.add_argument("--engine", default="auto", help="auto, quarto or pandoc (default: auto)")

    check = stage("check", _check, "check a rendered site")
    check.add_argument("site", nargs="?", type=Path, default=SITE)

    publish = stage("publish", _publish, "push the checked site, and nothing else, to a branch")
    publish.add_argument("--remote", default="origin", help="name, path or URL (default: origin)")
    publish.add_argument("--branch", default="gh-pages", help="(default: gh-pages)")
    publish.add_argument("--site", type=Path, default=SITE)
    publish.add_argument("--provenance", type=Path, default=PROVENANCE)

    claim = stage("claim", _claim, "print the whole reasoning about one claim")
    claim.add_argument("id", help="such as A13-mean-1024; the site's ledger lists them all")
    claim.add_argument("--verdicts", type=Path, default=VERDICTS)

    coverage = stage("coverage", _coverage, "account for every numeral of the lessons' texts")
    coverage.add_argument(
        "--suggest", action="store_true", help="list numerals without an entry, ready to paste"
    )

    lesson = stage("lesson", _lesson, "start the ledger file of a new lesson")
    lesson.add_argument("action", choices=["new"])
    lesson.add_argument("name", help="of the file in the ledger's folder, such as my-lesson")

    bench = stage("bench", _bench, "measure speed and memory as ratios, and keep them as a table")
    bench.add_argument(
        "groups",
        nargs="*",
        default=["sampling", "attention", "plan"],
        help="of sampling, attention, plan (default: all)",
    )
    bench.add_argument("--output", type=Path, default=BENCHMARKS)

    schemas = stage("schemas", _schemas, "write the JSON Schemas of config and ledger files")
    schemas.add_argument("--output", type=Path, default=Path("workflow/schemas"))
    return parser


def _validate(options: argparse.Namespace) -> None:
    from attention_scaling.settings import check_config

    config = check_config(options.config)
    lessons = _lessons(config)
    claims = sum(len(lesson.entries) for lesson in lessons)
    print(
        f"{options.config}: valid: {len(config.experiments)} experiments; "
        f"{config.study.lessons}: valid: {len(lessons)} lessons, {claims} claims"
    )


def _lessons(config: Config) -> list[Lesson]:
    """The ledger, its queries held against what the experiments measure."""
    from attention_scaling import experiments
    from attention_scaling.ledger.loading import load_lessons

    known = {name: entry.module().QUANTITIES for name, entry in experiments.REGISTRY.items()}
    return load_lessons(config.study.lessons, known)


def _plan(options: argparse.Namespace) -> None:
    from attention_scaling.planning import measuring, rates
    from attention_scaling.planning.plan import plan
    from attention_scaling.planning.report import report
    from attention_scaling.settings import check_config

    config = check_config(options.config)
    if options.measure:
        rates.write(
            measuring.measure(config, lambda text: print(f"measuring {text}")), options.rates
        )
    known = rates.read(options.rates)
    print(report(plan(config, known), known, options.rates, options.cells))


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
    from attention_scaling.jobs import jobs
    from attention_scaling.settings import load_config

    config = load_config(options.config)
    files = options.files or [Path(job.file) for job in jobs(config)]
    collect(config, files, options.output)


def _judge(options: argparse.Namespace) -> None:
    from attention_scaling.ledger.judging import judge
    from attention_scaling.ledger.loading import load_lessons
    from attention_scaling.ledger.queries import all_measured
    from attention_scaling.ledger.verdicts import write_verdicts
    from attention_scaling.settings import load_config
    from attention_scaling.tables import read_measurements

    config = load_config(options.config)
    measurements = read_measurements(options.measurements)
    lessons = load_lessons(config.study.lessons)
    # Importing all experiments, to hold the queries against them, takes half as long as judging.
    if not all_measured(lessons, measurements):
        lessons = _lessons(config)
    missing = config.study.unmatched_claims
    write_verdicts(judge(lessons, measurements, missing=missing), options.output)


def _verify(options: argparse.Namespace) -> int:
    from attention_scaling.ledger.judging import unexpected
    from attention_scaling.ledger.verdicts import read_verdicts, summary

    verdicts = read_verdicts(options.verdicts)
    print(summary(verdicts))
    surprises = unexpected(verdicts)
    for row in surprises.itertuples():
        print(f"unexpected: {row.claim} ({row.backend} {row.dtype}): {row.sentence}")
    return 1 if len(surprises) else 0


def _tables(options: argparse.Namespace) -> Tables:
    from attention_scaling.figures.slices import Tables
    from attention_scaling.ledger.verdicts import read_verdicts
    from attention_scaling.tables import read_measurements

    return Tables(read_measurements(options.measurements), read_verdicts(options.verdicts))


def _figures(options: argparse.Namespace) -> None:
    from attention_scaling.figures.writing import write_all

    drawn = write_all(_tables(options), options.output)
    print(f"{options.output}: {len(drawn)} figures")


def _pages(options: argparse.Namespace) -> None:
    from attention_scaling.ledger.loading import load_lessons
    from attention_scaling.settings import load_config
    from attention_scaling.site.pages import read_provenance, write

    write(
        _tables(options),
        load_lessons(load_config(options.config).study.lessons),
        read_provenance(options.provenance),
        options.measurements.parent,
        options.benchmarks,
        options.reports,
    )


def _render(options: argparse.Namespace) -> None:
    from attention_scaling.site.render import render

    result = render(options.reports, options.output, options.engine)
    print(f"{options.output}: {len(result.pages)} pages, by {result.engine} {result.version}")


def _check(options: argparse.Namespace) -> int:
    from attention_scaling.site.check import check

    problems = check(options.site)
    for problem in problems:
        print(problem)
    print(f"{options.site}: {len(problems)} problems")
    return 1 if problems else 0


def _publish(options: argparse.Namespace) -> None:
    from attention_scaling.publish import publish

    print(publish(options.site, options.remote, options.branch, options.provenance))


def _claim(options: argparse.Namespace) -> None:
    from attention_scaling.ledger.reasoning import explain
    from attention_scaling.ledger.verdicts import read_verdicts
    from attention_scaling.settings import load_config

    verdicts = read_verdicts(options.verdicts) if options.verdicts.exists() else None
    lessons = _lessons(load_config(options.config))
    config = None if options.config == DEFAULT_CONFIG else options.config
    print(explain(options.id, lessons, verdicts, str(MEASUREMENTS), config))


def _coverage(options: argparse.Namespace) -> int:
    from attention_scaling.ledger import coverage
    from attention_scaling.settings import load_config

    config = load_config(options.config)
    study, lessons = config.study, _lessons(config)
    if options.suggest:
        for lesson in lessons:
            text = coverage.read_text(lesson, study.lessons_dir)
            print(f"# {lesson.lesson}\n{coverage.suggest(lesson, text)}")
        return 0
    print(coverage.report(lessons, study.lessons_dir))
    return 0 if coverage.complete(lessons, study.lessons_dir) else 1


def _lesson(options: argparse.Namespace) -> None:
    from attention_scaling.ledger.skeleton import write
    from attention_scaling.settings import load_config

    path = write(options.name, load_config(options.config).study.lessons)
    print(f"{path}: written; fill it in, then run `python -m attention_scaling validate`")


def _bench(options: argparse.Namespace) -> None:
    from attention_scaling.bench import suite

    benchmarks = []
    for benchmark in suite.run(options.groups):
        print(suite.line(benchmark), flush=True)
        benchmarks.append(benchmark)
    suite.write(options.output, benchmarks)
    print(f"{options.output}: {len(benchmarks)} benchmarks")


def _schemas(options: argparse.Namespace) -> None:
    from attention_scaling.schemas import write_schemas

    for path in write_schemas(options.output):
        print(path)
