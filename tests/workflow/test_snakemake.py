"""Snakemake without make: as its users expect it."""

import re

from attention_scaling.jobs import jobs
from attention_scaling.settings import load_config


def test_lint_finds_nothing(fresh):
    lint = fresh.snakemake("--lint")
    assert lint.returncode == 0, lint.stdout
    assert "Congratulations" in lint.stdout


def test_a_dry_run_of_the_full_study_plans_every_stage(fresh):
    dry = fresh.snakemake("--configfile", "config/config.yaml", "--dry-run", "--quiet", "host")
    assert dry.returncode == 0, dry.stdout
    for rule in ("exact", "measure", "collect", "judge", "publish", "figures", "pages", "render"):
        assert f"{rule} " in dry.stdout


def test_the_graph_of_jobs_is_drawn(fresh):
    graph = fresh.snakemake("--dag", "--quiet", "all")
    assert graph.returncode == 0
    assert "digraph" in graph.stdout


def test_a_finished_study_has_nothing_to_do_without_a_profile_either(finished):
    run = finished.snakemake()
    assert run.returncode == 0
    assert "Nothing to be done" in run.stdout


def test_any_other_name_of_the_folder_will_do(fresh):
    folder = fresh.folder.with_name('it\'s "a" $HOME `id`; & %s *')
    project = type(fresh)(fresh.folder.rename(folder))
    run = project.run("results/exact/variance.parquet")
    assert run.returncode == 0, run.stdout
    assert project.path("results/exact/variance.parquet").is_file()


def test_a_profile_that_the_environment_names_is_not_the_runs(fresh):
    fresh.environment["SNAKEMAKE_PROFILE"] = "one-of-another-project"
    run = fresh.run("results/exact/variance.parquet")
    assert run.returncode == 0, run.stdout


def test_the_report_is_written(workspace):
    run = workspace.snakemake("--report", "report.html")
    assert run.returncode == 0, run.stdout
    assert workspace.path("report.html").stat().st_size > 10_000


def test_the_rules_have_the_jobs_that_a_plan_counts(fresh):
    counted = [job.file for job in jobs(load_config(fresh.path("config/quick.yaml")))]
    dry = fresh.snakemake("--configfile", "config/quick.yaml", "--dry-run", "--", *counted)
    assert dry.returncode == 0, dry.stdout
    all_of_it = fresh.snakemake("--configfile", "config/quick.yaml", "--dry-run", "--quiet", "host")
    steps = dict(re.findall(r"^(exact|measure) +(\d+)$", all_of_it.stdout, re.MULTILINE))
    assert sum(map(int, steps.values())) == len(counted)


def test_no_command_grows_with_the_number_of_jobs(fresh):
    fresh.edit(fresh.tiny, "shards: 2", "shards: 500")
    dry = fresh.snakemake("--dry-run", "--printshellcmds")
    assert dry.returncode == 0, dry.stdout
    commands = [line for line in dry.stdout.splitlines() if "python -m attention_scaling" in line]
    assert len(commands) > 2000
    assert max(map(len, commands)) < 1000
