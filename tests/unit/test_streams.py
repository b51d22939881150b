"""Blocks have streams of their own, and shards share them out without gap or overlap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_scaling.errors import UserError
from attention_scaling.sampling.streams import (
    MOST_RUNS,
    Shard,
    block_seed,
    block_sizes,
    number_of,
    runs_of_blocks,
)


@given(st.integers(0, 500), st.integers(1, 40), st.integers(0, 2**64))
def test_shards_partition_the_runs(total, count, turn):
    shares = [Shard(index, count).share(total, turn) for index in range(count)]
    assert sorted(run for share in shares for run in share) == list(range(total))
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_cells_of_one_run_fall_to_all_shards():
    owners = [
        index
        for turn in range(100)
        for index in range(10)
        if Shard(index, 10).share(1, number_of(f"d_k={turn}"))
    ]
    assert set(owners) == set(range(10))


@given(st.integers(0, 10**6), st.integers(100, 2**15))
def test_block_sizes_add_up_and_only_the_last_is_short(samples, block_rows):
    sizes = block_sizes(samples, block_rows)
    assert sum(sizes) == samples
    assert all(size == block_rows for size in sizes[:-1])
    assert all(0 < size <= block_rows for size in sizes)


def test_more_samples_begin_with_the_same_whole_blocks():
    assert block_sizes(10**6, 2**14)[:61] == block_sizes(10**5 * 99, 2**14)[:61]


def test_streams_differ_by_seed_experiment_cell_and_block():
    names = [
        (1, "a", "x", 0),
        (2, "a", "x", 0),
        (1, "b", "x", 0),
        (1, "a", "y", 0),
        (1, "a", "x", 1),
    ]
    firsts = {tuple(block_seed(*name).generate_state(4)) for name in names}
    assert len(firsts) == len(names)


def test_a_stream_does_not_depend_on_the_process():
    # Python's own hash() would: it is salted anew in each process.
    state = block_seed(7, "variance", "d_k=4", 3).generate_state(2)
    assert state.tolist() == [3610381475, 1259324463]


@pytest.mark.parametrize("text", ["", "1", "2/2", "-1/3", "a/b", "1/0", "1.0/2"])
def test_a_bad_shard_is_refused(text):
    with pytest.raises(UserError, match="INDEX/COUNT"):
        Shard.parse(text)


@given(st.integers(0, 20_000))
def test_runs_hold_all_blocks_in_order_and_are_few(blocks):
    runs = runs_of_blocks(blocks)
    assert [block for run in runs for block in run] == list(range(blocks))
    assert len(runs) <= MOST_RUNS
    assert len({len(run) for run in runs[:-1]}) <= 1


def test_a_small_cell_has_a_run_for_each_block():
    assert [list(run) for run in runs_of_blocks(3)] == [[0], [1], [2]]
