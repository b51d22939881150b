"""The command line as a process of its own: bad input, and threads in the environment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attention_scaling import shards

CONFIG = """
seed: 3
experiments:
  saturation: {widths: [16], key_counts: [6], samples: 3000, direct_samples: 300}
  gradient: {widths: [32], key_counts: [8], samples: 8}
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(CONFIG)
    return path


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "attention_scaling", *map(str, arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("experiment", ["saturation", "gradient"])
def test_threads_in_the_environment_change_no_digit(tmp_path, config, backend, experiment):
    found = []
    for threads in ("1", "2"):
        output = tmp_path / f"{threads}.parquet"
        variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
        ran = command(
            *("run", experiment, "--backend", backend, "--config", config, "--output", output),
            **variables,
        )
        assert ran.returncode == 0, ran.stderr
        found.append(shards.read(output)[0])
    assert found[0] == found[1]
    assert len(found[0]) > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "nothing"), "experiment 'nothing': allowed are variance"),
        (("run", "gradient", "--backend", "jax"), "backend 'jax': allowed are numpy, torch"),
        (("run", "gradient", "--device", "tpu"), "device 'tpu': allowed are cpu, cuda"),
        (("run", "gradient", "--device", "cuda"), "NumPy runs on the cpu alone"),
        (("run", "gradient", "--shard", "2/2"), "shard '2/2'"),
        (("run", "variance"), "no block for 'variance'"),
    ],
)
def test_bad_arguments_are_one_line_and_status_2(tmp_path, config, arguments, words):
    output = tmp_path / "out.parquet"
    ran = command(*arguments, "--config", config, "--output", output)
    assert ran.returncode == 2
    assert words in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not output.exists()


def test_an_unwritable_output_is_one_line(tmp_path, config):
    occupied = tmp_path / "file"
    occupied.touch()
    output = occupied / "out.parquet"
    ran = command("run", "gradient", "--config", config, "--output", output)
    assert ran.returncode == 2
    assert "cannot be written" in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line_and_leaves_nothing_behind(tmp_path, config):
    # Writing to /dev/full fails as a full disk does.
    from attention_scaling import atomic
    from attention_scaling.errors import UserError

    with (
        pytest.raises(UserError, match="No space left"),
        atomic.atomic_path(tmp_path / "out.txt"),
        Path("/dev/full").open("w") as full,
    ):
        full.write("x")
    assert list(tmp_path.iterdir()) == [config]


def test_a_reader_that_has_seen_enough_ends_a_stage_quietly(config):
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [sys.executable, "-m", "attention_scaling", "validate", "--config", config],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.parametrize("redirection", [">&-", "| cat"])
def test_a_claim_is_told_to_a_closed_output_and_in_ascii_too(redirection):
    claim = f"{sys.executable} -m attention_scaling claim A13-mean-1024 {redirection}"
    ran = subprocess.run(
        ["sh", "-c", claim],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("stage", ["run", "exact", "collect", "judge", "claim", "validate"])
def test_every_stage_explains_itself(stage):
    shown = command(stage, "--help")
    assert shown.returncode == 0
    assert "--config" in shown.stdout
