"""YAML files into validated models, every mistake in one line that names the file and the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from attention_scaling.errors import UserError

Model = TypeVar("Model", bound=BaseModel)


class StrictModel(BaseModel):
    """A block of a YAML file: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


# libyaml's where PyYAML was built with it: it reads ten times as fast.
_SAFE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeyLoader(_SAFE_LOADER):
    """YAML without the silent loss of a key that stands twice in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def load_yaml(path: Path) -> Any:
    """The data in the YAML file at `path`; `UserError` where it cannot be read or parsed."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from error
    try:
        # The loader is a SafeLoader: it builds plain data and nothing else.
        return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise UserError(f"{path}{line}: not valid YAML: {problem}") from error


def validate(model: type[Model], data: Any, where: str) -> Model:
    """`data` as a `model`; `UserError` naming `where`, the key and what is allowed."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        # A misspelt key shows up twice, as one unknown and one missing: the unknown one says more.
        problems = sorted(
            error.errors(include_url=False),
            key=lambda problem: problem["type"] != "extra_forbidden",
        )
        first = problems[0]
        key = ".".join(str(part) for part in first["loc"])
        separator = "." if where.rpartition(": ")[2] != where and key else ": "
        given = first.get("input")
        shown = f" (given: {given!r})" if isinstance(given, str | int | float | list) else ""
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        message = first["msg"]
        if first["type"] == "extra_forbidden":
            allowed = ", ".join(model.model_fields)
            message = f"unknown key; allowed here are {allowed}"
            shown = ""
        where_key = f"{where}{separator}{key}" if key else where
        raise UserError(f"{where_key}: {message}{shown}{more}") from error
