"""A run that is killed or stopped, and two runs at once."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pandas as pd
import pytest

TABLE = "results/staged/measurements.parquet"
STEPS = re.compile(r"(\d+) of (\d+) steps")


@pytest.fixture
def project(fresh):
    """A clone whose study is short: NumPy alone."""
    fresh.edit(fresh.tiny, "[numpy, torch]", "[numpy]")
    return fresh


def start(project, interrupt=signal.SIG_DFL) -> tuple[subprocess.Popen, int]:
    """A run that has finished its first job and has more to do, and the number of its jobs.

    `interrupt` is what the run does on SIGINT when it starts: what is set here, not what pytest was started with.
    """
    run = subprocess.Popen(
        project.command(project.tiny, 2, TABLE),
        cwd=project.folder,
        env=project.environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, interrupt),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    for line in run.stdout:
        if steps := STEPS.match(line):
            assert steps[1] == "1"
            return run, int(steps[2])
    raise AssertionError("the run ended before its first job did")


def assert_goes_on(project, jobs: int, finished) -> str:
    """The same command makes what is missing, and no more, and all that a whole run makes."""
    again = project.run(TABLE)
    assert again.returncode == 0, again.stdout
    assert {int(steps[2]) for steps in STEPS.finditer(again.stdout)} < set(range(1, jobs))
    assert "Nothing to be done" in project.run(TABLE).stdout
    whole = pd.read_parquet(finished.path(TABLE)).query("backend == 'numpy'")
    pd.testing.assert_frame_equal(
        pd.read_parquet(project.path(TABLE)), whole.reset_index(drop=True), check_exact=True
    )
    assert not list(project.folder.glob("results/**/.*")), "something unfinished was left behind"
    return again.stdout


def test_a_killed_run_goes_on_with_the_same_command(finished, project):
    run, jobs = start(project)
    (snakemake,) = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    os.kill(run.pid, signal.SIGKILL)  # before the other, whose end it would notice
    os.kill(int(snakemake), signal.SIGKILL)
    run.communicate()
    assert list(project.path(".snakemake/locks").iterdir()), "Snakemake had time to clear up"
    assert "the last run was killed" in assert_goes_on(project, jobs, finished)


def test_an_interrupted_run_goes_on_with_the_same_command(finished, project):
    run, jobs = start(project)
    run.send_signal(signal.SIGINT)
    run.communicate()
    assert run.returncode != 0
    assert "the last run was killed" not in assert_goes_on(project, jobs, finished)


def test_a_background_run_that_is_asked_to_stop_goes_on_with_the_same_command(finished, project):
    run, jobs = start(project, interrupt=signal.SIG_IGN)  # as a shell starts `make report &`
    run.send_signal(signal.SIGTERM)
    run.communicate()
    assert run.returncode != 0
    assert "the last run was killed" not in assert_goes_on(project, jobs, finished)


def test_a_run_whose_output_nobody_reads_any_more_goes_on_to_its_end(project):
    run, _ = start(project)
    run.stdout.close()  # as `make report | head` does; its next line finds no reader
    assert run.wait(timeout=120) == 0
    assert not project.path(".snakemake/run.lock").read_text()
    assert "Nothing to be done" in project.run(TABLE).stdout


def test_two_runs_at_once_do_not_meet(project):
    run, _ = start(project)
    second = project.run()
    assert second.returncode != 0
    assert second.stdout.strip() == f"another run works in this folder (process {run.pid})"
    run.send_signal(signal.SIGINT)
    run.communicate()
