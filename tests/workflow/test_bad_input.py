"""Bad input: one clear line, a status that is not zero, and nothing that was there before is lost."""

import os
import subprocess

import pytest

BAD_CONFIGS = {
    "unknown key": ("seed: 1", "seed: 1\nsede: 2", "sede"),
    "unknown key of an experiment": (
        "samples: 400",
        "samples: 400\n    sample: 4",
        "variance.sample",
    ),
    "wrong type": ("samples: 400", "samples: many", "variance.samples"),
    "empty list": ("widths: [4, 64]", "widths: []", "saturation.widths"),
    "negative width": ("widths: [4, 64]", "widths: [4, -64]", "saturation.widths"),
    "no such backend": ("[numpy, torch]", "[numpy, jax]", "backends"),
    "no such experiment": ("saturation:", "saturations:", "saturations"),
    "YAML syntax": ("[numpy, torch]", "[numpy, torch", "YAML"),
    "correlation out of range": (
        "experiments:\n",
        "experiments:\n  correlation: {correlations: [1.5], widths: [4], key_counts: [8], samples: 2}\n",
        "correlation.correlations",
    ),
}


PUBLISHED = ("results/measurements.parquet", "results/verdicts.parquet", "results/verdicts.csv")


def one_line(output: str) -> str:
    """The only line of the output."""
    (line,) = output.strip().splitlines()
    return line


@pytest.mark.parametrize("mistake", BAD_CONFIGS)
def test_mistake_in_the_config_is_one_line_that_names_the_key(fresh, mistake):
    old, new, key = BAD_CONFIGS[mistake]
    fresh.edit(fresh.tiny, old, new)
    run = fresh.run()
    assert run.returncode == 2
    line = one_line(run.stdout)
    assert fresh.tiny in line
    assert key in line
    assert not fresh.path("results").exists()


@pytest.mark.parametrize("mistake", ["unknown key", "negative width", "YAML syntax"])
def test_snakemake_by_itself_says_the_same_line_and_shows_no_traceback(fresh, mistake):
    old, new, key = BAD_CONFIGS[mistake]
    fresh.edit(fresh.tiny, old, new)
    expected = one_line(fresh.run().stdout).removeprefix("error: ")
    run = fresh.snakemake()
    assert run.returncode == 1
    assert "Traceback" not in run.stdout
    assert not fresh.path("results").exists()
    if mistake == "YAML syntax":  # a file that it is given, Snakemake reads before the Snakefile
        expected = "Config file is not valid JSON or YAML"
    assert expected in run.stdout


def test_a_config_that_is_not_there(fresh):
    run = fresh.run(config="nothing.yaml")
    assert run.returncode == 2
    assert one_line(run.stdout) == "error: nothing.yaml: no such file"


def test_settings_on_snakemakes_command_line_are_refused(fresh):
    run = fresh.snakemake("--config", "seed=5")
    assert run.returncode == 1
    assert "--config is not used" in run.stdout


def test_a_claim_about_what_nothing_measures(workspace):
    workspace.edit(workspace.ledger, "quantity: size_slope", "quantity: size_slop")
    before = workspace.contents("results")
    run = workspace.run()
    assert run.returncode == 2
    line = one_line(run.stdout)
    assert workspace.ledger in line
    assert "size_slop" in line
    assert workspace.contents("results") == before


def test_two_claims_with_one_id(workspace):
    workspace.edit(workspace.ledger, "id: slope", "id: signs-square-mean")
    run = workspace.run()
    assert run.returncode == 2
    line = one_line(run.stdout)
    assert workspace.ledger in line
    assert "signs-square-mean" in line


def test_a_corrupted_results_file_is_named_and_the_tables_stay(workspace):
    shard = "results/shards/variance/numpy-cpu/1-of-2.parquet"
    tables = {name: workspace.path(name).read_bytes() for name in PUBLISHED}
    site = workspace.contents("reports/_site")
    workspace.path(shard).write_bytes(workspace.path(shard).read_bytes()[:100])
    run = workspace.run()
    assert run.returncode != 0
    assert "Traceback" not in run.stdout
    (error,) = [line for line in run.stdout.splitlines() if "error: " in line]
    assert shard in error
    assert {name: workspace.path(name).read_bytes() for name in PUBLISHED} == tables
    assert workspace.contents("reports/_site") == site

    workspace.path(shard).unlink()
    assert workspace.run().returncode == 0
    assert workspace.path(PUBLISHED[0]).read_bytes() == tables[PUBLISHED[0]]


@pytest.mark.parametrize("folder", ["results", "logs", "reports/_generated"])
def test_a_folder_that_cannot_be_written(fresh, folder):
    # A file in the folder's place: no lack of permission would stop root.
    fresh.path(folder).write_text("in the way")
    run = fresh.run()
    assert run.returncode == 2
    assert one_line(run.stdout).startswith(f"error: {folder}: cannot be written")
    assert fresh.path(folder).read_text() == "in the way"


@pytest.fixture
def full_disk(fresh):
    """A clone whose results folder is a disk that is full after its first kilobytes."""
    fresh.edit(fresh.tiny, "[numpy, torch]", "[numpy]")
    results = fresh.path("results")
    results.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1000", "tmpfs", results]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    yield fresh
    subprocess.run(["umount", results], check=True)


def test_a_full_disk(full_disk):
    run = full_disk.run()
    assert run.returncode != 0
    assert "Traceback" not in run.stdout
    errors = [line for line in run.stdout.splitlines() if line.startswith("error: ")]
    assert errors
    assert all(line.startswith("error: results/") for line in errors)
    assert all("No space left on device" in line for line in errors)
    assert not list(full_disk.folder.glob("results/**/*.parquet"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("folder", ["results", "logs/measure"])
def test_a_folder_without_permission(fresh, folder):
    fresh.path(folder).mkdir(parents=True)
    fresh.path(folder).chmod(0o555)
    run = fresh.run()
    assert run.returncode == 2
    assert one_line(run.stdout).startswith(f"error: {folder}: cannot be written")
