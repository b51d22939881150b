"""What is known of jobs: Snakemake's measurement of them joined in, and unlike machines told apart."""

import dataclasses
import subprocess

import pytest

from attention_scaling import provenance
from attention_scaling.provenance import JobClock, Process
from attention_scaling.site.provenance_page import MOST_ROWS, provenance_parts, sameness

COLUMNS = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
ROW = "10.42\t0:00:10\t151.5\t1554.15\t92.91\t115.44\t0.02\t0.03\t79.28\t8.72\n"


def job(**changes):
    facts = dataclasses.asdict(
        JobClock("saturation", "numpy-cpu 0 of 1", "numpy", "cpu", "c0de").facts()
    )
    process = {"seconds": 3.0, "cpu_seconds": 2.0, "peak_bytes": 5 * 2**30}
    return facts | {"cpu": "one", "process": process} | changes


@pytest.mark.parametrize(
    ("job_file", "benchmark"),
    [
        ("exact/variance.parquet", "benchmarks/exact/variance.tsv"),
        (
            "shards/variance/numpy-cpu/3-of-64.parquet",
            "benchmarks/measure/variance/numpy-cpu/3-of-64.tsv",
        ),
    ],
)
def test_snakemakes_measurement_of_a_job_is_found_by_its_file(tmp_path, job_file, benchmark):
    assert Process.of(tmp_path / job_file) is None
    path = tmp_path / benchmark
    path.parent.mkdir(parents=True)
    path.write_text(COLUMNS + ROW)
    assert Process.of(tmp_path / job_file) == Process(10.42, 8.72, int(151.5 * 2**20))


@pytest.mark.parametrize("text", ["", COLUMNS, COLUMNS + ROW.replace("151.5", "NA")])
def test_a_job_that_was_not_measured_has_no_measurement(tmp_path, text):
    path = tmp_path / "benchmarks/exact/variance.tsv"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert Process.of(tmp_path / "exact/variance.parquet") is None
    assert Process.of(tmp_path / "elsewhere/variance.parquet") is None


def test_the_commit_is_that_of_a_repository_which_has_the_code(tmp_path):
    def git(*arguments):
        name = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
        subprocess.run(["git", "-C", tmp_path, *name, *arguments], check=True, capture_output=True)

    tracked, unpacked = tmp_path / "tracked.py", tmp_path / "unpacked" / "code.py"
    unpacked.parent.mkdir()
    for file in (tracked, unpacked):
        file.write_text("")
    assert provenance._commit(tracked) == (None, None)
    git("init")
    git("add", tracked.name)
    git("commit", "--message", "m")
    commit, clean = provenance._commit(tracked)
    assert len(commit) == 40
    assert not clean  # for the other file is not committed
    assert provenance._commit(unpacked) == (None, None)


def test_jobs_on_machines_alike_are_said_to_be():
    assert sameness([job(), job(host="another")]) == (
        "All jobs ran on machines alike, with the same versions of everything."
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cpu": "two"}, "2 processors (one and two)"),
        ({"python": "3.99"}, "2 versions of Python"),
        ({"versions": job()["versions"] | {"numpy": "0"}}, "2 versions of numpy"),
        ({"code": "other"}, "2 states of the code of saturation"),
    ],
)
def test_what_is_unlike_is_named(changes, said):
    text = sameness([job(), job(), job(**changes)]).replace("\\", "")
    assert text.startswith("The jobs did not run alike: ")
    assert said in text


def test_many_shards_are_shown_together_and_no_job_is_lost():
    jobs = [job(part=f"numpy-cpu {index} of 300", seconds=2.0) for index in range(300)]
    assert len(jobs) > MOST_ROWS
    provenance = {"jobs": jobs, "python": "3", "versions": {}, "config_text": "x"}
    table = provenance_parts(provenance)["jobs"]
    (row,) = [line for line in table.splitlines() if "saturation" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1].replace("\\", "") == "numpy-cpu"
    assert cells[2] == "300"
    assert cells[4:7] == ["600", "600", "5,120"]


def test_a_job_of_a_batch_system_shows_its_number():
    provenance = {
        "jobs": [job(scheduler_job="4711", process=None)],
        "python": "3",
        "versions": {},
        "config_text": "x",
    }
    assert "4711" in provenance_parts(provenance)["jobs"]
