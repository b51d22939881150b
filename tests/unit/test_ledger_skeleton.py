import pytest

from attention_scaling.errors import UserError
from attention_scaling.ledger.loading import load_lesson
from attention_scaling.ledger.skeleton import write


def test_the_skeleton_is_a_valid_ledger_file(tmp_path):
    lesson = load_lesson(write("my-lesson", tmp_path / "lessons"))
    assert lesson.lesson == "my-lesson"
    assert [claim.id for claim in lesson.entries] == ["ML-1"]


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
