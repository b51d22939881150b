"""The JSON Schemas of configuration and ledger files, generated from the models that check them.

They let an editor complete and check a file while it is written.
"""

from __future__ import annotations

import json
from pathlib import Path

from attention_scaling.atomic import write_text
from attention_scaling.ledger.models import Lesson
from attention_scaling.settings import config_schema


def schemas() -> dict[str, dict]:
    """The schemas by the name of their file."""
    return {"config.json": config_schema(), "lesson.json": Lesson.model_json_schema()}


def write_schemas(folder: Path) -> list[Path]:
    """Write the schemas into `folder`; the paths written."""
    paths = []
    for name, schema in schemas().items():
        write_text(folder / name, json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
        paths.append(folder / name)
    return paths
