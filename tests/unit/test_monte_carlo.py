"""Blocks, shards and tiles change nothing; targets of precision are met or said not to be."""

from dataclasses import replace

import numpy as np
import pytest

from attention_scaling import backends, shards
from attention_scaling.experiments.monte_carlo import Cell, Statistic, run_cell
from attention_scaling.sampling.streams import Shard

CELL = Cell(method="direct", samples=70_000, numbers_per_row=3, d_k=3)
WHOLE = Shard()
STATISTIC = Statistic("score_mean")


def sample(settings, cell, backend, draws, rows):
    return {STATISTIC: backend.xp.sum(draws.normal((rows, cell.d_k)), axis=1)}


def run(cell, shard=WHOLE, backend="numpy", seed=1):
    loaded = backends.load(backend)
    return list(run_cell(sample, None, cell, loaded, seed=seed, experiment="test", shard=shard))


@pytest.mark.parametrize("backend", backends.NAMES)
@pytest.mark.parametrize("count", [2, 3, 7])
def test_any_number_of_shards_gives_the_same_bits(backend, count):
    whole = shards.merged(run(CELL, backend=backend))
    parts = [row for index in range(count) for row in run(CELL, Shard(index, count), backend)]
    assert shards.merged(reversed(parts)) == whole


def test_more_samples_begin_with_the_same_blocks():
    few, many = run(CELL), run(replace(CELL, samples=140_000))
    assert [row.moments for row in many[:4]] == [row.moments for row in few[:4]]
    assert len(many) == 9


def test_the_mean_and_its_error_are_right():
    (row,) = shards.merged(run(CELL))
    assert row.samples == CELL.samples
    assert abs(row.value) < 5 * row.stderr
    np.testing.assert_allclose(row.stderr, np.sqrt(3 / CELL.samples), rtol=0.02)


def test_a_target_error_decides_the_number_of_blocks_in_every_shard_alike():
    cell = replace(CELL, samples=10**7, target_stderr=0.005, target_quantity="score_mean")
    (whole,) = shards.merged(run(cell))
    assert whole.stderr <= 0.005
    assert whole.samples < 3 / 0.005**2 * 1.4
    assert whole.note is None
    parts = [row for index in range(3) for row in run(cell, Shard(index, 3))]
    assert shards.merged(parts) == [whole]


def test_a_target_out_of_reach_stops_at_the_cap_and_says_so():
    cell = replace(CELL, target_stderr=1e-5, target_quantity="score_mean")
    (row,) = shards.merged(run(cell))
    assert row.samples == CELL.samples
    assert "cap of 70000 rows" in row.note


def test_a_target_that_a_single_row_cannot_have_is_a_note():
    cell = replace(CELL, samples=1, target_stderr=0.1, target_quantity="score_mean")
    (row,) = shards.merged(run(cell))
    assert row.stderr is None
    assert "cap of 1 rows" in row.note


def test_a_dtype_that_numpy_lacks_is_a_row_with_a_reason():
    (row,) = run(replace(CELL, dtype="bfloat16"))
    assert "bfloat16" in row.measurement.skipped
    assert row.measurement.value is None


def test_a_row_too_wide_to_draw_is_a_row_with_a_reason():
    (row,) = run(replace(CELL, numbers_per_row=2**26))
    assert "67108864 numbers" in row.measurement.skipped


def test_long_runs_of_blocks_keep_few_moments(monkeypatch):
    monkeypatch.setattr("attention_scaling.sampling.streams.MOST_RUNS", 2)
    rows = run(CELL)
    assert [row.run for row in rows] == [0, 1]
    assert sum(row.moments.count for row in rows) == CELL.samples
    assert shards.merged(run(CELL, Shard(1, 2)) + run(CELL, Shard(0, 2))) == shards.merged(rows)
