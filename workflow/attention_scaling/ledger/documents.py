"""A ledger file as a validated model: whatever is wrong is one line with file, line and key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from attention_scaling.errors import UserError
from attention_scaling.validation import load_yaml

Model = TypeVar("Model", bound=BaseModel)


def read_document(path: Path, model: type[Model]) -> Model:
    """The YAML file at `path` as a `model`.

    Raises `UserError` with the file, the line and the key of the first thing that is wrong.
    """
    data = load_yaml(path)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        tree = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        problems = error.errors(include_url=False)
        # A misspelt key is also a missing one; the misspelling is what to tell.
        unknown = [problem for problem in problems if problem["type"] == "extra_forbidden"]
        problem = (unknown or problems)[0]
        line, keys = _locate(tree, problem["loc"])
        if problem["type"] == "missing":
            keys.append(str(problem["loc"][-1]))
        key = ".".join(keys)
        message = "unknown key" if unknown else problem["msg"].removeprefix("Value error, ")
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise UserError(f"{path}:{line}: {f'{key}: ' if key else ''}{message}{more}") from error


def _locate(node: yaml.Node | None, location: Sequence[str | int]) -> tuple[int, list[str]]:
    """The line of the deepest part of `location` that the document has, and the path to it.

    Pydantic also names parts that the document does not have: a missing key or item, and the alternative of
    a union that it tried.
    """
    line = node.start_mark.line + 1 if node else 1
    keys: list[str] = []
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if found:
                line, node = found[0].start_mark.line + 1, found[1]
                keys.append(str(part))
        elif isinstance(node, yaml.SequenceNode) and part in range(len(node.value)):
            node = node.value[part]
            line = node.start_mark.line + 1
            keys.append(_label(node, part))
    return line, keys


def _label(node: yaml.Node, index: int) -> str:
    """What to call an item of a list: its own `id` where it has one."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "id" and isinstance(value, yaml.ScalarNode):
                return value.value
    return str(index)
