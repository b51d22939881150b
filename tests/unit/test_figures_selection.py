"""Which rows and which verdicts are shown."""

import numpy as np
import pandas as pd
import pytest
from reader_study import full_study

from attention_scaling.figures import slices
from attention_scaling.figures.outcomes import OUTCOMES, counts_by_lesson, outcomes
from attention_scaling.tables import EXACT_METHODS


def test_rows_are_those_with_the_labels():
    tables = full_study().tables
    rows = tables.rows("saturation", "entropy", d_k=64, n_keys=8, divisor="none")
    assert set(zip(rows["backend"], rows["method"], strict=True)) == {
        ("numpy", "collapsed"),
        ("torch", "collapsed"),
        ("numpy", "quadrature"),
    }
    assert len(tables.rows("saturation", "entropy", d_k=5)) == 0
    assert len(tables.rows("no such experiment")) == 0


def test_exact_and_sampled_rows_are_apart():
    rows = full_study().tables.rows("saturation")
    assert set(slices.exact(rows)["method"]) <= set(EXACT_METHODS)
    assert set(slices.sampled(rows)["method"]) == {"collapsed"}
    assert len(slices.exact(rows)) + len(slices.sampled(rows)) == len(rows)


def test_a_curve_is_exact_where_that_is_known_and_the_mean_of_the_backends_elsewhere():
    tables = full_study().tables
    rows = tables.rows("saturation", "top_weight", n_keys=8, divisor="none")
    exact = rows[rows["method"] == "quadrature"].sort_values("d_k")
    assert list(slices.curve(rows)["value"]) == list(exact["value"])
    rows = tables.rows("capacity", "top_eigenvalue", n_keys=8, divisor="none", d_k=64)
    assert slices.curve(rows)["value"].item() == pytest.approx(rows["value"].mean())


@pytest.mark.parametrize(
    ("counts", "limit", "expected"),
    [
        ([8, 32, 128, 512], 3, [8, 32, 512]),
        ([8, 16, 32], 3, [8, 16, 32]),
        ([2, 4, 8, 16, 32], 3, [2, 8, 32]),
        ([4, 8, 16, 64, 128], 3, [4, 16, 128]),
        ([32], 3, [32]),
    ],
)
def test_panels_show_the_ends_and_the_number_of_keys_that_the_lessons_speak_of(
    counts, limit, expected
):
    assert slices.panel_keys(pd.DataFrame({"n_keys": counts}), limit) == expected


def monte_carlo(**columns):
    row = {
        "quantity": "top_weight",
        "method": "collapsed",
        "samples": 1000,
        "value": 0.5,
        "stderr": 0.1,
        "theory": 0.4,
        "divisor": None,
    }
    return pd.DataFrame([row | columns])


def test_a_distance_is_in_standard_errors():
    assert slices.distances(monte_carlo()).item() == pytest.approx(1)


@pytest.mark.parametrize(
    "columns",
    [
        {"theory": None},
        {"stderr": 0.0},
        {"theory": 1e-6, "value": 0.0},
        {"theory": 1 - 1e-6, "value": 1.0, "stderr": 1e-17},
        {"quantity": "closed_share", "theory": 0.009},
    ],
)
def test_no_distance_where_it_would_say_nothing(columns):
    assert np.isnan(slices.distances(monte_carlo(**columns)).item())


def test_a_mean_that_is_no_share_may_be_as_small_as_it_likes():
    row = monte_carlo(quantity="score_mean", theory=0.0, value=-0.2)
    assert slices.distances(row).item() == pytest.approx(-2)


def test_each_draw_counts_once():
    tables = full_study().tables
    counted = tables.measured.loc[slices.z_scores(tables).index]
    scores = counted[counted["quantity"].str.startswith("score_")]
    assert set(scores["divisor"]) == {"none"}
    assert not counted["quantity"].isin(["score_size", "score_std", "size_slope"]).any()
    assert set(counted["method"]) <= set(slices.MONTE_CARLO)


def verdicts(*rows):
    columns = ["claim", "lesson", "verdict", "expected"]
    return pd.DataFrame(rows, columns=columns)


def test_the_gravest_verdict_of_a_claim_counts():
    table = verdicts(
        ("A1", "a", "reproduced", True),
        ("A1", "a", "skipped", True),
        ("A2", "a", "reproduced", True),
        ("A2", "a", "differs", True),
        ("A3", "a", "differs", False),
        ("A3", "a", "differs", True),
        ("B1", "b", "consistent", True),
        ("B1", "b", "inconclusive", True),
        ("B2", "b", "cited", True),
        ("B3", "b", "skipped", True),
    )
    assert dict(outcomes(table)) == {
        "A1": "reproduced",
        "A2": "differs, explained",
        "A3": "differs",
        "B1": "inconclusive",
        "B2": "cited",
        "B3": "skipped",
    }
    counts = counts_by_lesson(table)
    assert list(counts.index) == ["a", "b"]
    assert list(counts.columns) == list(OUTCOMES)
    assert counts.loc["a", "reproduced"] == 1
    assert counts.to_numpy().sum() == 6


def test_training_shows_the_sweep_with_most_remedies_and_the_other_task():
    tables = full_study().tables
    assert slices.main_sweep(tables) == "adam"
    assert slices.recall_sweep(tables) == "recall"
    assert not slices.trained(tables, "loss")["cell"].str.contains("rate=").any()


def test_losses_over_rates_are_of_one_sweep_and_carry_their_rate():
    rows = slices.by_rate(full_study().tables)
    assert set(rows["rate"]) == {0.004, 0.008}
    assert set(rows["cell"]) == {"transfer, rate=0.004", "transfer, rate=0.008"}
    assert len(rows) == 3 * 3 * 2


def test_rows_of_several_aligned_keys_or_of_no_correlation_are_not_those_of_one_aligned_key():
    rows = slices.one_aligned_key(full_study().tables)
    assert set(rows["rho"]) == {0.0, 0.1, 0.6}
    assert rows["distribution"].isna().all()
