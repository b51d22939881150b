"""The JSON Schemas in the repository are those of the models."""

import json
from pathlib import Path

import pytest

from attention_scaling.schemas import schemas

FOLDER = Path(__file__).parents[2] / "workflow" / "schemas"


@pytest.mark.parametrize("name", ["config.json", "lesson.json"])
def test_a_schema_has_not_drifted_from_its_model(name):
    written = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert written == schemas()[name], "run `python -m attention_scaling schemas`"
