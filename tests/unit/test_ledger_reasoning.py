from pathlib import Path

import pandas as pd
import pytest

from attention_scaling.errors import UserError
from attention_scaling.ledger.judging import judge
from attention_scaling.ledger.models import Lesson
from attention_scaling.ledger.reasoning import explain
from attention_scaling.measurement import Measurement

LESSON = Lesson.model_validate(
    {
        "lesson": "coins",
        "title": "Coins",
        "file": "coins.txt",
        "claims": [
            {
                "id": "X1-mean",
                "line": 3,
                "also": [7],
                "says": "the mean is 0.36",
                "kind": "replayed",
                "printed": "0.36",
                "measure": {
                    "experiment": "coins",
                    "quantity": "mean",
                    "where": {"d_k": 8, "divisor": "root"},
                },
                "differs": "the text cuts off instead of rounding",
                "figure": "coins",
            },
            {"id": "X2", "line": 4, "says": "cited", "kind": "cited", "cited": "Somebody (2020)"},
        ],
    }
)


def verdicts(method="direct", backends=("numpy", "torch")):
    rows = [
        Measurement(
            experiment="coins",
            quantity="mean",
            method=method,
            backend=backend,
            d_k=8,
            divisor="root",
            value=0.369,
            stderr=0.001,
            theory=0.3701,
        )
        for backend in backends
    ]
    return judge([LESSON], pd.DataFrame([vars(row) for row in rows]))


def test_the_whole_story_is_told():
    story = explain("X1-mean", [LESSON], verdicts(), "results/measurements.parquet")
    for part in (
        "the mean is 0.36",
        "Coins, coins.txt, line 3 (and 7)",
        "0.36 (as printed)",
        "the text cuts off instead of rounding",
        "numpy, cpu, float64, direct: differs",
        "torch, cpu, float64, direct: differs",
        "0.369 ± 0.001, exact value 0.3701",
        "accepted from 0.355 to 0.365",
        "d_k == 8 and divisor == 'root'",
        "run coins --backend numpy",
    ):
        assert part in story
    code = ("pandas.read_parquet", "python -m")
    prose = [line for line in story.splitlines() if not line.strip().startswith(code)]
    assert max(map(len, prose)) <= 100


def test_the_query_it_prints_finds_the_row():
    story = explain("X1-mean", [LESSON], verdicts(), "results/measurements.parquet")
    query = story.split('.query("')[1].split('")')[0]
    table = pd.DataFrame(
        {
            "experiment": ["coins"] * 2,
            "quantity": ["mean"] * 2,
            "d_k": [8, 4],
            "divisor": ["root"] * 2,
        }
    )
    assert list(table.query(query)["d_k"]) == [8]


def test_the_commands_it_prints_make_a_table_of_the_study_s_own():
    story = explain("X1-mean", [LESSON], verdicts(), "results/m.parquet", Path("my.yaml"))
    *_, run, collect = story.splitlines()
    assert "run coins --backend numpy --config my.yaml --output /tmp/again/coins.parquet" in run
    assert "collect /tmp/again/coins.parquet --config my.yaml --output" in collect


def test_an_exact_value_is_computed_again_by_its_own_stage():
    judged = verdicts(method="quadrature", backends=["numpy"])
    story = explain("X1-mean", [LESSON], judged, "results/m.parquet")
    assert "exact coins --output /tmp/again/coins-exact.parquet" in story
    assert "--backend" not in story


def test_before_a_run_it_says_what_to_do():
    assert "run the study first" in explain("X1-mean", [LESSON], None, "results/m.parquet")


def test_a_cited_claim_names_its_source():
    assert "Somebody (2020)" in explain("X2", [LESSON], verdicts(), "results/m.parquet")


def test_an_unknown_id_is_one_line_with_near_ones():
    with pytest.raises(UserError, match="claim 'x1': no such claim; there are X1-mean"):
        explain("x1", [LESSON], None, "results/m.parquet")


def test_a_timing_is_looked_up_in_its_own_table_and_run_on_a_backend_that_measures_it():
    judged = verdicts(method="timing", backends=["torch"])
    story = explain("X1-mean", [LESSON], judged, "results/measurements.parquet")
    assert 'read_parquet("results/timings.parquet")' in story
    assert "run coins --backend torch" in story
