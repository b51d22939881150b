import math

import numpy as np
import pytest

from attention_scaling.experiments import lesson_designs

SETTINGS = lesson_designs.Settings(seed=3, widths=[4, 64], runs=60, row_counts=[50, 400])


@pytest.fixture(scope="module")
def rows(backend):
    measured = list(lesson_designs.measure(SETTINGS, backend))
    return {(r.quantity, r.d_k, r.divisor, r.variant): r for r in measured}


def test_the_mean_over_runs_is_the_exact_mean(rows):
    for (quantity, _, _, variant), row in rows.items():
        if variant.endswith("mean") and quantity != "capacity_fall":
            assert abs(row.value - row.theory) < 4.5 * row.stderr


def test_quantiles_rise_and_enclose_the_mean(rows):
    for quantity in lesson_designs.ROW_STATISTICS:
        for divisor in lesson_designs.DIVISORS:
            quantiles = [
                rows[quantity, 4, divisor, f"rows=50 q{level}"].value
                for level in lesson_designs.LEVELS
            ]
            assert quantiles == sorted(quantiles)
            assert quantiles[0] < rows[quantity, 4, divisor, "rows=50 mean"].value < quantiles[-1]


def test_shared_keys_keep_a_run_from_settling(rows):
    """Independent rows would scatter by a factor of sqrt(8) less in the longer runs."""
    short = rows["top_weight", 4, "none", "rows=50 sd"].value
    long = rows["top_weight", 4, "none", "rows=400 sd"].value
    assert 1 < short / long < 0.7 * math.sqrt(8)


def test_a_longer_run_begins_with_the_shorter_one(backend):
    values = backend.asarray(np.arange(12.0).reshape(2, 6))
    means = lesson_designs._means_of_first(backend, values, [1, 4, 6])
    assert means.tolist() == [[0.0, 6.0], [1.5, 7.5], [2.5, 8.5]]


def test_the_same_seed_gives_the_same_runs(backend, rows):
    settings = SETTINGS.model_copy(update={"widths": [4]})
    again = {
        (r.quantity, r.d_k, r.divisor, r.variant): r.value
        for r in lesson_designs.measure(settings, backend)
        if r.d_k == 4
    }
    assert again and all(rows[key].value == value for key, value in again.items())
