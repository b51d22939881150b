import math
from pathlib import Path

import numpy as np
import pytest

from attention_scaling.experiments import reconstruction
from attention_scaling.settings import load_config

CONFIG = Path(__file__).parents[2] / "config" / "config.yaml"
SETTINGS = load_config(CONFIG).experiment("reconstruction")


@pytest.fixture(scope="module")
def kept():
    return reconstruction.search(SETTINGS.seed, SETTINGS.draws)


def test_the_published_row_is_the_one_that_the_search_chooses(kept):
    assert reconstruction.choose(kept) == SETTINGS.row


def test_kept_rows_have_size_1_and_give_all_printed_weights(kept):
    assert len(kept) > 100
    np.testing.assert_allclose(np.sqrt(np.mean(kept**2, axis=1)), 1)
    for (d_k, divisor), printed in reconstruction.PRINTED.items():
        factor = math.sqrt(d_k) / {"none": 1, "root": math.sqrt(d_k), "width": d_k}[divisor]
        exponentials = np.exp(factor * kept)
        top = exponentials.max(axis=1) / exponentials.sum(axis=1)
        assert {f"{weight:.2f}" for weight in top} == {f"{printed:.2f}"}


def test_the_published_row_gives_all_printed_weights(backend):
    rows = list(reconstruction.measure(SETTINGS, backend))
    top = {(r.d_k, r.divisor): f"{r.value:.2f}" for r in rows if r.quantity == "top_weight"}
    for cell, printed in reconstruction.PRINTED.items():
        assert top[cell] == f"{printed:.2f}"
    size = next(row.value for row in rows if row.quantity == "row_size")
    assert f"{size:.4f}" == "1.0000"


def test_the_weights_of_each_cell_sum_to_1(backend):
    sums = {}
    for row in reconstruction.measure(SETTINGS, backend):
        if row.quantity == "weight":
            sums[row.d_k, row.divisor] = sums.get((row.d_k, row.divisor), 0.0) + row.value
    assert len(sums) == 9
    assert list(sums.values()) == pytest.approx([1.0] * 9)


def test_the_ranges_describe_the_kept_rows():
    settings = SETTINGS.model_copy(update={"draws": 500_000})
    rows = {(r.quantity, r.variant): r for r in reconstruction.exact(settings)}
    found = reconstruction.search(settings.seed, settings.draws)
    assert rows["kept_rows", None].value == len(found)
    assert rows["entry_low", "0"].value == found[:, 0].min()
    assert rows["entry_high", "5"].value == found[:, 5].max()


def test_a_search_that_finds_nothing_says_so():
    settings = SETTINGS.model_copy(update={"draws": 1})
    (row,) = reconstruction.exact(settings)
    assert (row.quantity, row.value) == ("kept_rows", 0.0)
