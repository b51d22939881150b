"""YAML files into validated models, every mistake in one line that names the file and the key."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from attention_scaling.errors import UserError
from attention_scaling.safe_yaml import SAFE_LOADER

Model = TypeVar("Model", bound=BaseModel)


class StrictModel(BaseModel):
    """A block of a YAML file: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: Any, field: ValidationInfo) -> Any:
        """`value`, which would pass for the number 1 where YAML has read a yes or an on as true."""
        if cls.model_fields[field.field_name].annotation is not bool:
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, bool):
                    raise ValueError(
                        f"must not be {item}, as which YAML also reads yes, no, on, off"
                    )
        return value


class _CarefulLoader(SAFE_LOADER):
    """YAML without the silent loss of a key that stands twice in a mapping; its mistakes are all YAMLErrors."""

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict:
        seen = set()
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if key_node.tag == MERGE:  # <<: keys that a mapping names itself take precedence
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise _mistake(
                    "a list or a mapping as a key; a value that begins with { or [ is put in quotes",
                    key_node,
                )
            if key in seen:
                raise _mistake(f"the key {key!r} stands twice", key_node)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError) as error:
            # So PyYAML answers 2020-13-45, which looks like a date, and what a tag such as !!int does not fit.
            kind = node.tag.rpartition(":")[2]
            raise _mistake(f"{str(node.value)[:40]!r} is no valid {kind}", node) from error


MERGE = "tag:yaml.org,2002:merge"


def _mistake(problem: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


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
        return yaml.load(text, Loader=_CarefulLoader)  # noqa: S506
    except RecursionError:
        raise UserError(f"{path}: not valid YAML: nested too deeply") from None
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
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            allowed = ", ".join(model.model_fields)
            message = f"unknown key; allowed here are {allowed}"
            shown = ""
        where_key = f"{where}{separator}{key}" if key else where
        raise UserError(f"{where_key}: {message}{shown}{more}") from error
