import math

import numpy as np
import pandas as pd
import pytest

from attention_scaling.errors import UserError
from attention_scaling.ledger.judging import VERDICT_COLUMNS, judge, unexpected
from attention_scaling.ledger.models import Lesson
from attention_scaling.measurement import Measurement

DEFAULTS = {"experiment": "coins", "quantity": "mean", "method": "direct", "stderr": 0.0}


def table(*rows):
    return pd.DataFrame([vars(Measurement(**DEFAULTS | row)) for row in rows])


def verdicts(claim, *rows, **options):
    claim = {
        "id": "X1",
        "line": 3,
        "says": "something",
        "kind": "exact",
        "measure": {"experiment": "coins", "quantity": "mean"},
    } | claim
    lesson = Lesson.model_validate(
        {"lesson": "coins", "title": "Coins", "file": "coins.txt", "claims": [claim]}
    )
    return judge([lesson], table(*rows), **options)


def verdict(claim, *rows):
    found = verdicts(claim, *rows)
    assert len(found) == 1
    return found.iloc[0]


def test_columns_and_types():
    found = verdicts({"printed": "0.50"}, {"value": 0.5})
    assert list(found.columns) == list(VERDICT_COLUMNS)
    assert found["line"].dtype == "Int64"
    assert found["expected"].dtype == bool


def test_printed_decimals_decide():
    assert verdict({"printed": "0.36"}, {"value": 0.36025})["verdict"] == "reproduced"
    row = verdict({"printed": "0.36"}, {"value": 0.36896})
    assert row["verdict"] == "differs"
    assert not row["expected"]
    assert "rounds to 0.37" in row["sentence"]
    assert (row["low"], row["high"]) == pytest.approx((0.355, 0.365))


def test_a_known_difference_is_expected_and_a_vanished_one_is_not():
    known = {"printed": "0.36", "differs": "the text cuts off instead of rounding"}
    row = verdict(known, {"value": 0.36896})
    assert row["verdict"] == "differs" and row["expected"]
    assert row["explanation"] == "the text cuts off instead of rounding"
    gone = verdicts(known, {"value": 0.361})
    assert gone.iloc[0]["verdict"] == "reproduced"
    assert list(unexpected(gone)["claim"]) == ["X1"]


@pytest.mark.parametrize(("dtype", "epsilon"), [("float64", 2**-52), ("float32", 2**-23)])
def test_exact_values_may_be_off_by_the_roundings_of_their_dtype(dtype, epsilon):
    claim = {"value": 8.0, "roundings": 10}
    near = {"value": 8 + 72 * epsilon, "dtype": dtype}
    far = {"value": 8 + 88 * epsilon, "dtype": dtype}
    assert verdict(claim, near)["verdict"] == "reproduced"
    assert verdict(claim, far)["verdict"] == "differs"


def test_small_targets_are_held_to_absolute_rounding():
    assert verdict({"value": 0.0, "roundings": 4}, {"value": 4 * 2**-52})["verdict"] == "reproduced"
    assert verdict({"value": 0.0, "roundings": 4}, {"value": 1e-15})["verdict"] == "differs"


@pytest.mark.parametrize(
    ("distance", "expected"),
    [(0.0, "consistent"), (2.5, "consistent"), (2.7, "inconclusive"), (4.1, "differs")],
)
def test_within_error(distance, expected):
    row = verdict({"kind": "trend", "value": 0.5}, {"value": 0.5 + distance * 0.01, "stderr": 0.01})
    assert row["verdict"] == expected
    assert row["expected"] == (expected != "differs")


@pytest.mark.parametrize(("distance", "expected"), [(0.0, "inconclusive"), (4.1, "differs")])
def test_a_precision_that_was_not_reached_settles_no_equality(distance, expected):
    short = {"stderr": 0.01, "note": "stopped at the cap of 50 rows"}
    row = verdict({"kind": "trend", "value": 0.5}, {"value": 0.5 + distance * 0.01} | short)
    assert row["verdict"] == expected
    assert row["sentence"].endswith("The measurement stopped at the cap of 50 rows.")


def test_within_error_allows_for_the_print():
    claim = {"kind": "sampled", "printed": "0.16"}
    assert verdict(claim, {"value": 0.1651, "stderr": 0.0001})["verdict"] == "consistent"


@pytest.mark.parametrize(
    ("compare", "value", "stderr", "expected"),
    [
        ("more_than", 5.47, 0.0, "reproduced"),
        ("more_than", 5.0, 0.0, "differs"),
        ("at_least", 5.0, 0.0, "reproduced"),
        ("at_most", 5.1, 0.0, "differs"),
        ("less_than", 4.9, 0.0, "reproduced"),
        ("more_than", 5.2, 0.1, "inconclusive"),
        ("more_than", 5.3, 0.1, "consistent"),
        ("more_than", 4.7, 0.1, "differs"),
        ("at_most", 4.8, 0.1, "inconclusive"),
    ],
)
def test_inequalities_must_hold_beyond_their_error(compare, value, stderr, expected):
    claim = {"kind": "trend", "compare": compare, "value": 5}
    assert verdict(claim, {"value": value, "stderr": stderr})["verdict"] == expected


def test_a_replayed_sample_is_taken_as_it_is():
    claim = {"kind": "replayed", "compare": "more_than", "value": 5}
    row = verdict(claim, {"value": 5.2, "stderr": 0.1})
    assert row["verdict"] == "reproduced" and row["stderr"] == 0.1


def test_between():
    claim = {"compare": "between", "range": [1, 2]}
    assert verdict(claim, {"value": 1.5})["verdict"] == "reproduced"
    assert verdict(claim, {"value": 2.1})["verdict"] == "differs"


def test_a_quotient_carries_both_errors():
    claim = {
        "kind": "trend",
        "compare": "more_than",
        "value": 5,
        "measure": {"experiment": "coins", "quantity": "mean", "where": {"d_k": 8}},
        "ratio_to": {"where": {"d_k": 512}},
    }
    rows = (
        {"d_k": 8, "value": 0.18, "stderr": 0.003, "theory": 0.18},
        {"d_k": 512, "value": 0.03, "stderr": 0.001, "theory": 0.03},
    )
    row = verdict(claim, *rows)
    assert row["value"] == pytest.approx(6.0)
    assert row["exact"] == pytest.approx(6.0)
    # Against simulated quotients of Gaussian errors.
    draws = np.random.default_rng(1).normal(size=(2, 200_000))
    quotients = (0.18 + 0.003 * draws[0]) / (0.03 + 0.001 * draws[1])
    assert row["stderr"] == pytest.approx(np.std(quotients), rel=0.02)


def test_each_backend_dtype_and_method_has_its_own_verdict():
    found = verdicts(
        {"value": 1.0},
        {"value": 1.0},
        {"value": 1.0, "backend": "torch"},
        {"value": 1.5, "backend": "torch", "dtype": "float32"},
        {"value": None, "skipped": "no CUDA device", "backend": "torch", "device": "cuda"},
    )
    assert {tuple(row) for row in found[["backend", "device", "dtype", "verdict"]].to_numpy()} == {
        ("numpy", "cpu", "float64", "reproduced"),
        ("torch", "cpu", "float64", "reproduced"),
        ("torch", "cpu", "float32", "differs"),
        ("torch", "cuda", "float64", "skipped"),
    }
    skipped = found[found["verdict"] == "skipped"].iloc[0]
    assert "no CUDA device" in skipped["sentence"] and skipped["expected"]


def test_a_query_that_leaves_the_row_open_is_refused():
    with pytest.raises(UserError, match="X1.measure.where: 2 rows .* say which d_k"):
        verdicts({"value": 1.0}, {"d_k": 4, "value": 1.0}, {"d_k": 8, "value": 1.0})


def test_null_asks_for_null():
    claim = {
        "value": 1.0,
        "measure": {"experiment": "coins", "quantity": "mean", "where": {"d_k": None}},
    }
    assert verdict(claim, {"value": 1.0}, {"d_k": 4, "value": 2.0})["value"] == 1.0


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ({"experiment": "dice", "quantity": "mean"}, "the experiment dice was not run"),
        ({"experiment": "coins", "quantity": "spread"}, "coins measured no spread"),
        (
            {"experiment": "coins", "quantity": "mean", "where": {"d_k": 5}},
            "coins measured mean in no cell with d_k = 5",
        ),
    ],
)
def test_what_is_missing_is_refused_or_skipped(measure, message):
    claim, row = {"value": 1.0, "measure": measure}, {"d_k": 4, "value": 1.0}
    with pytest.raises(UserError, match=message):
        verdicts(claim, row)
    found = verdicts(claim, row, missing="skip").iloc[0]
    assert found["verdict"] == "skipped" and message in found["sentence"]


def test_where_no_device_measured_anything_its_reason_is_given():
    reason = {"quantity": "all", "method": "skipped", "value": None, "skipped": "no CUDA device"}
    row = verdict({"value": 1.0}, reason)
    assert row["verdict"] == "skipped" and "no CUDA device" in row["sentence"]


def test_cited_and_skipped_are_not_judged():
    cited = {"kind": "cited", "cited": "Somebody (2020)", "measure": None}
    assert verdict(cited, {"value": 1.0})["verdict"] == "cited"
    skipped = verdict({"skipped": "needs a GPU"}, {"value": 1.0})
    assert skipped["verdict"] == "skipped" and "needs a GPU" in skipped["sentence"]


RUN = {
    "kind": "sampled",
    "single_run": True,
    "measure": {
        "experiment": "coins",
        "quantity": "mean",
        "where": {"variant": "rows=1000 mean"},
    },
}


def run_rows(spread=0.01, sizes=(200, 1000)):
    levels = [0.0005, 0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995, 0.9995]
    normal = [-3.2905, -2.5758, -1.6449, -0.6745, 0, 0.6745, 1.6449, 2.5758, 3.2905]
    yield {"variant": "rows=1000 mean", "value": 0.34, "stderr": 1e-4, "theory": 0.3401}
    for size in sizes:
        for level, z in zip(levels, normal, strict=True):
            yield {"variant": f"rows={size} q{level}", "value": 0.34 + spread * z}


def test_a_printed_value_among_single_runs():
    row = verdict(RUN | {"printed": "0.35"}, *run_rows())
    assert row["verdict"] == "consistent"
    # One standard deviation above the mean, interpolated between the quartile and the 95 % point.
    assert row["percentile"] == pytest.approx(82, abs=2)
    assert row["exact"] == 0.3401
    assert "99 % give 0.314242 to 0.365758" in row["sentence"]
    assert verdict(RUN | {"printed": "0.38"}, *run_rows())["verdict"] == "differs"


def test_the_print_of_a_single_run_is_allowed_for():
    assert verdict(RUN | {"printed": "0.37"}, *run_rows())["verdict"] == "consistent"
    assert verdict(RUN | {"printed": "0.371"}, *run_rows())["verdict"] == "differs"


def test_an_order_among_single_runs():
    claim = RUN | {"compare": "more_than", "value": 0.33}
    row = verdict(claim, *run_rows())
    assert row["verdict"] == "consistent"
    assert "% are more than 0.33" in row["sentence"]
    assert verdict(claim | {"value": 0.37}, *run_rows())["verdict"] == "differs"


def test_run_sizes_that_disagree_leave_it_open():
    rows = [
        *run_rows(spread=0.02, sizes=(200,)),
        *(row for row in run_rows(spread=0.001, sizes=(1000,)) if "q" in row["variant"]),
    ]
    assert verdict(RUN | {"printed": "0.37"}, *rows)["verdict"] == "inconclusive"


def test_single_runs_that_are_not_there_are_missing():
    with pytest.raises(UserError, match="rows=N qP"):
        verdicts(RUN | {"printed": "0.35"}, {"variant": "rows=1000 mean", "value": 0.34})


def test_not_a_number_differs():
    row = verdict({"printed": "0.5"}, {"value": math.inf})
    assert row["verdict"] == "differs"
    claim = {
        "value": 1,
        "measure": {"experiment": "coins", "quantity": "mean", "where": {"d_k": 4}},
        "ratio_to": {"where": {"d_k": 8}},
    }
    row = verdict(claim, {"d_k": 4, "value": 1.0}, {"d_k": 8, "value": 0.0})
    assert row["verdict"] == "differs" and row["sentence"] == "The measured value is not a number."
