"""The attention benchmarks at small sizes: they time the same work, and say what they skip."""

from __future__ import annotations

import numpy as np
import pytest

from attention_scaling import backends
from attention_scaling.bench import attention as bench


def test_all_ways_compute_the_same_pass():
    arrays = bench.matrices(backends.load("numpy"), 96)
    for whole, again, blocks in zip(
        bench.plain(arrays), bench.recomputed(arrays), bench.tiled(arrays), strict=True
    ):
        assert np.array_equal(whole, again)
        np.testing.assert_allclose(blocks, whole, atol=1e-5)


@pytest.mark.filterwarnings("error")
def test_every_benchmark_has_a_ratio_or_a_reason(monkeypatch):
    monkeypatch.setattr(bench, "SHORT", 32)
    monkeypatch.setattr(bench, "LONG", 64)
    found = list(bench.measure())
    assert len({benchmark.name for benchmark in found}) == len(found)
    for benchmark in found:
        assert (benchmark.median is None) == (benchmark.skipped_because is not None)
        assert benchmark.median is None or 0 < benchmark.low <= benchmark.median <= benchmark.high
