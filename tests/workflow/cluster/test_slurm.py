"""Runs through a real SLURM: the same tables, and jobs that are lost, killed, too large or too long."""

import json

import pandas as pd
import pytest

MEASUREMENTS = "results/staged/measurements.parquet"
TABLES = [
    f"results/{name}.{suffix}"
    for name in ("measurements", "verdicts")
    for suffix in ("parquet", "csv")
]

# Found by every Python of the project, and an input of no rule: one job takes for ever, others too much.
MISBEHAVIOUR = """
import sys
import time

arguments = sys.orig_argv[2:5]
if arguments == ["attention_scaling", "exact", "variance"]:
    time.sleep(600)
if arguments == ["attention_scaling", "run", "saturation"]:
    hoard = b"." * (5 * 2**29)
    time.sleep(600)
"""

# Two jobs that last until they are stopped.
LASTING = """
import sys
import time

if {"run", "saturation", "0/2"} <= set(sys.orig_argv):
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def misbehaving(clone, start):
    """A project with jobs that misbehave, and its run, which goes on beside other tests: SLURM counts minutes."""
    project = clone("misbehaving")
    project.edit(project.tiny, "[numpy, torch]", "[numpy]")
    project.path("workflow/sitecustomize.py").write_text(MISBEHAVIOUR)
    return project, start(project, "--set-resources", "exact:runtime=1", "--", MEASUREMENTS)


def test_a_run_that_lost_a_job_and_was_killed_goes_on_with_the_same_command(
    misbehaving, finished, clone, start, cluster
):
    project = clone("killed")
    project.path("workflow/sitecustomize.py").write_text(LASTING)
    run = start(project)
    run.wait_until_it_says("8 of 18 steps")
    name = run.name
    cancelled, left = cluster.jobs("--name", name)
    cluster.run("scancel", cancelled)
    run.wait_until_it_says("SLURM status is: 'CANCELLED'")
    run.kill()
    assert cluster.jobs("--name", name) == [left]

    project.path("workflow/sitecustomize.py").unlink()
    again = start(project)
    assert again.wait() == 0, again.said
    assert "the last run was killed" in again.said
    assert not cluster.jobs("--name", name)
    for table in TABLES:
        assert project.path(table).read_bytes() == finished.path(table).read_bytes()
    assert project.path("reports/_site/index.html").is_file()
    assert not list(project.folder.glob("results/**/.*")), "something unfinished was left behind"
    jobs = json.loads(project.path("results/provenance.json").read_text())["jobs"]
    assert len(jobs) == 10
    assert all(job["scheduler_job"] and job["process"]["peak_bytes"] for job in jobs)
    sent = cluster.jobs("--states=all", show="comment")
    assert {comment.split("_")[1] for comment in sent} == {"exact", "measure"}


def test_a_job_on_cuda_asks_for_a_gpu_and_goes_to_the_partition_of_gpus(
    misbehaving, clone, start, cluster
):
    project = clone("gpu")
    project.edit(project.tiny, "devices: cpu", "devices: [cpu, cuda]")
    shard = "results/shards/variance/torch-cuda/0-of-2.parquet"
    partition = "measure:slurm_partition='gpus' if wildcards.device == 'cuda' else 'test'"
    run = start(project, "--set-resources", partition, "--", shard)
    assert run.wait() == 0, run.said
    (job,) = cluster.jobs("--partition=gpus", "--states=all")
    described = cluster.run("scontrol", "show", "job", job).split()
    assert "TresPerJob=gres:gpu:1" in described
    assert "MinMemoryNode=8000M" in described
    assert "TimeLimit=04:00:00" in described
    reasons = pd.read_parquet(project.path(shard))["skipped"].dropna()
    assert all("CUDA" in reason for reason in reasons)


def test_a_job_too_large_or_too_long_is_reported_and_only_what_is_missing_done_again(
    misbehaving, finished
):
    project, run = misbehaving
    assert run.wait() != 0
    for rule, cell, reason in (
        ("exact", "exact/variance", "SLURM status is: 'TIMEOUT'"),
        ("measure", "measure/saturation/numpy-cpu/1-of-2", "memory limit"),
    ):
        reports = run.said.split("Error in rule ")
        (report,) = [text for text in reports if f"log: logs/{cell}.log" in text]
        assert report.startswith(f"{rule}:")
        assert reason in report
        assert "/slurm_logs/" in report
    assert "Traceback" not in run.said

    project.path("workflow/sitecustomize.py").unlink()
    missing = {
        "variance: exact values",
        *(f"saturation: numpy on cpu, shard {shard} of 2" for shard in (0, 1)),
        "the table of measurements",
    }
    assert project.planned() >= missing
    assert not any("variance: numpy" in job for job in project.planned())
    again = project.run(MEASUREMENTS)
    assert again.returncode == 0, again.stdout
    whole = pd.read_parquet(finished.path(MEASUREMENTS)).query("backend == 'numpy'")
    pd.testing.assert_frame_equal(
        pd.read_parquet(project.path(MEASUREMENTS)), whole.reset_index(drop=True), check_exact=True
    )
