"""The replayed cells, drawn and computed a second time in another way."""

import math

import numpy as np
import pytest

from attention_scaling import backends
from attention_scaling.experiments import lesson_cells
from attention_scaling.tables import LABELS


@pytest.fixture(scope="module")
def rows():
    measured = list(lesson_cells.measure(lesson_cells.Settings(), backends.load("numpy")))
    return {(r.cell, r.quantity, r.d_k, r.divisor, r.variant): r for r in measured}


def test_the_first_cell_draws_queries_before_keys(rows):
    rng = np.random.default_rng(7)
    queries, keys = rng.standard_normal((8000, 4)), rng.standard_normal((8000, 4))
    scores = [math.fsum(q * k) for q, k in zip(queries, keys, strict=True)]
    row = rows["A13", "score_mean", 4, None, None]
    assert row.value == pytest.approx(math.fsum(scores) / 8000, abs=1e-15)
    assert row.stderr == pytest.approx(np.std(scores, ddof=1) / math.sqrt(8000), rel=1e-12)
    size = math.sqrt(math.fsum(s * s for s in scores) / 8000)
    assert rows["A13", "score_size", 4, None, None].value == pytest.approx(size, rel=1e-14)


def test_the_second_cell_shares_its_keys(rows):
    rng = np.random.default_rng(11)
    queries, keys = rng.standard_normal((4000, 8)), rng.standard_normal((8, 8))
    scores = np.einsum("id,jd->ij", queries, keys) / math.sqrt(8)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    top = rows["A14", "top_weight", 8, "root", None]
    assert top.value == pytest.approx(weights.max(axis=1).mean(), rel=1e-13)
    assert top.stderr is None


def test_a_standard_error_of_the_typical_size_is_what_repetition_gives():
    rng = np.random.default_rng(1)
    sizes, errors = [], []
    for _ in range(400):
        squares = rng.normal(size=500) ** 2
        error = squares.std(ddof=1) / math.sqrt(500)
        size, stderr = lesson_cells._root(squares.mean(), error)
        sizes.append(size)
        errors.append(stderr)
    assert np.mean(errors) == pytest.approx(np.std(sizes), rel=0.12)


def test_no_two_rows_have_the_same_labels(rows):
    labels = [tuple(getattr(row, name) for name in LABELS) for row in rows.values()]
    assert len(set(labels)) == len(labels) == 20 + 18 + 6 + 4 + 4


def test_the_worked_example_is_what_its_scores_say(rows):
    ratio = math.exp(math.sqrt(2))
    assert rows["C3", "output", None, None, "1,1"].value == pytest.approx(10 * ratio / (1 + ratio))
    assert rows["C3", "output", None, None, "0,0"].value == 5.0
