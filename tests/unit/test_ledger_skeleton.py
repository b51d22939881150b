import pytest

from attention_scaling.errors import UserError
from attention_scaling.experiments import variance
from attention_scaling.ledger.loading import load_lesson
from attention_scaling.ledger.skeleton import write
from attention_scaling.measurement import Measurement


def test_the_skeleton_is_a_valid_ledger_file(tmp_path):
    lesson = load_lesson(write("my-lesson", tmp_path / "lessons"))
    assert lesson.lesson == "my-lesson"
    assert [claim.id for claim in lesson.entries] == ["ML-1"]


def test_the_claim_of_the_skeleton_finds_what_it_asks_for(tmp_path):
    (claim,) = load_lesson(write("my-lesson", tmp_path)).entries
    (query,) = claim.queries
    assert query.quantity in variance.QUANTITIES
    settings = variance.Settings(
        widths=[16, 64], distributions=["gaussian"], samples=100, enumerated_widths=[2]
    )
    moments = [
        Measurement(
            experiment="variance",
            quantity=quantity,
            method="direct",
            d_k=64,
            divisor="none",
            distribution="gaussian",
            value=value,
            stderr=0.1,
        )
        for quantity, value in (("score_mean", 0.0), ("score_square_mean", 64.0))
    ]
    rows = [vars(row) for row in variance.derive(settings, moments)]
    wanted = {"quantity": query.quantity, **query.where.conditions()}
    assert [row["value"] for row in rows if wanted.items() <= row.items()] == [8]


def test_an_existing_lesson_stays(tmp_path):
    path = write("my-lesson", tmp_path)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="exists already"):
        write("my-lesson", tmp_path)
    assert path.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["", "My Lesson", "../up", "a--b", "x.yaml"])
def test_odd_names_are_refused(name, tmp_path):
    with pytest.raises(UserError, match="allowed are lower-case"):
        write(name, tmp_path)
    assert not list(tmp_path.iterdir())
