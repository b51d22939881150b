"""Benchmarks: what is recorded, held against its bound, and shown."""

import pytest

from attention_scaling.bench.record import Benchmark
from attention_scaling.bench.suite import line, run, write
from attention_scaling.bench.timing import Ratio, Timings, interleaved
from attention_scaling.errors import UserError
from attention_scaling.site.bench_page import bench_part


def test_ratios_are_taken_round_by_round():
    timings = Timings({"a": [2.0, 30.0, 4.0], "b": [1.0, 10.0, 1.0]})
    assert timings.ratio("a", "b") == Ratio(3.0, 2.0, 4.0)
    assert timings.ratio("a", "b", scale=10).median == 30.0


def test_ways_take_turns_and_the_first_turn_does_not_count():
    turns = []
    ways = {"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}
    ticks = iter(range(100))
    timings = interleaved(ways, rounds=2, clock=lambda: float(next(ticks)))
    assert turns == ["a", "b"] * 3
    assert timings.seconds == {"a": [1.0, 1.0], "b": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("bound", "reached"),
    [({"at_least": 2}, True), ({"at_least": 4}, False), ({"at_most": 3}, True)],
)
def test_a_median_is_held_against_its_bound(bound, reached):
    benchmark = Benchmark.ratio("x", "x over y", Ratio(3.0, 1.0, 5.0), bound_by="nothing", **bound)
    assert benchmark.reached is reached
    assert ("MISSED" in line(benchmark)) is not reached


def test_the_page_shows_what_was_written(tmp_path):
    path = tmp_path / "ratios.csv"
    missed = Benchmark.ratio("x", "x over y", Ratio(3.0, 1.0, 5.0), at_least=4, bound_by="memory")
    write(path, [missed, Benchmark.skipped("z", "z over y", "no GPU here")])
    text = bench_part(path)
    assert "| x over y | 3.00 | 1.00 to 5.00 | ≥ 4, **missed** | memory |" in text
    assert "skipped: no GPU here" in text


def test_another_table_is_refused_in_one_line(tmp_path):
    path = tmp_path / "ratios.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="not a table of benchmarks"):
        bench_part(path)
    with pytest.raises(UserError, match="make bench"):
        bench_part(tmp_path / "none.csv")


def test_an_unknown_group_is_refused():
    with pytest.raises(UserError, match="allowed are sampling, attention"):
        list(run(["sampling?"]))
