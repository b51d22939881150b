"""Runs through any batch system: here the shell, which takes a script and gives it a number."""

import sys
from pathlib import Path

import pandas as pd
import pytest

MEASUREMENTS = "results/staged/measurements.parquet"
PLUGINS = Path(sys.prefix, "cluster")

SUBMIT = """#!/bin/sh
# submit THREADS MEMORY SCRIPT
echo "$1 $2" >>"$(dirname "$0")/asked"
sh "$3" >/dev/null 2>&1 &
echo $!
"""


@pytest.mark.skipif(not PLUGINS.is_dir(), reason=f"{PLUGINS}: make test installs it")
def test_another_batch_system_gives_the_same_tables(fresh, finished, tmp_path):
    fresh.edit(fresh.tiny, "[numpy, torch]", "[numpy]")
    submit = tmp_path / "submit"
    submit.write_text(SUBMIT)
    fresh.environment |= {"PYTHONPATH": str(PLUGINS)}
    fresh.environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = fresh.run(
        *("--profile", "generic", "--seconds-between-status-checks", "1"),
        *("--cluster-generic-submit-cmd", f"sh {submit} {{threads}} {{resources.mem_mb}}"),
        *("--", MEASUREMENTS),
    )
    assert run.returncode == 0, run.stdout
    asked = (tmp_path / "asked").read_text().splitlines()
    assert sorted(asked) == ["1 1000"] * 2 + ["1 2000"] * 4
    whole = pd.read_parquet(finished.path(MEASUREMENTS)).query("backend == 'numpy'")
    pd.testing.assert_frame_equal(
        pd.read_parquet(fresh.path(MEASUREMENTS)), whole.reset_index(drop=True), check_exact=True
    )
