"""Cells and their spreading over jobs."""

from collections import Counter

import pytest

from attention_scaling.errors import UserError
from attention_scaling.sampling.streams import Shard
from attention_scaling.training.plan import cells, deal
from attention_scaling.training.settings import TrainingSettings
from attention_scaling.validation import validate

SWEEPS = {
    "adam": {"variants": ["root", "additive"], "widths": [16, 64, 256], "rates": [0.01]},
    "recall": {"task": "recall", "variants": ["none"], "widths": [16, 64], "rates": [0.01, 0.02]},
    "mup": {"variants": ["width"], "widths": [32], "rates": [0.01], "d_model": "d_k"},
}


def settings(**changes):
    return validate(TrainingSettings, {"sweeps": SWEEPS} | changes, "training")


def test_every_product_is_a_cell_once():
    found = cells(settings())
    assert len(found) == len(set(map(str, found))) == 6 + 2 + 1
    assert {cell.d_model for cell in found if cell.name == "mup"} == {32}
    assert {cell.d_model for cell in found if cell.name == "adam"} == {64}
    assert {cell.runs for cell in found if cell.name == "recall"} == {10}


@pytest.mark.parametrize("together", [1, 2, 5])
def test_groups_of_seeds_cover_each_seed_once(together):
    counts = Counter()
    for cell in cells(settings(seeds=5, seeds_together=together)):
        assert len(cell.seeds) <= together
        counts.update((cell.name, cell.variant, cell.d_k, seed) for seed in cell.seeds)
    assert set(counts.values()) == {1}
    assert len(counts) == 9 * 5


@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_shards_share_all_cells_without_overlap(count):
    everything = cells(settings(seeds_together=1))
    dealt = [cell for index in range(count) for cell in deal(everything, Shard(index, count))]
    assert Counter(map(str, dealt)) == Counter(map(str, everything))


def test_no_shard_is_left_much_more_than_another():
    everything = cells(settings(seeds_together=1))
    loads = [sum(cell.cost for cell in deal(everything, Shard(index, 3))) for index in range(3)]
    assert max(loads) - min(loads) <= max(cell.cost for cell in everything)


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ({"rates": [0.1, 0.01]}, "must ascend"),
        ({"record_at": [4, 2]}, "must ascend"),
        ({"variants": ["root", "root"]}, "a remedy stands twice"),
        ({"variants": ["sqrt"]}, "'none', 'root'"),
        ({"task": "recall", "d_model": "d_k"}, "goes with the task retrieval"),
        ({"rate": 1}, "unknown key"),
    ],
)
def test_mistakes_are_refused_in_one_line(sweep, message):
    base = {"variants": ["root"], "widths": [16], "rates": [0.01]}
    with pytest.raises(UserError, match=message) as error:
        validate(TrainingSettings, {"sweeps": {"adam": base | sweep}}, "training")
    assert "\n" not in str(error.value)
