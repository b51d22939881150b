"""The field of settings that names remedies."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from attention_scaling.remedies import NAMES


def _each_once(names: list[str]) -> list[str]:
    if len(set(names)) != len(names):
        raise ValueError("a remedy stands twice")
    return names


Variants = Annotated[
    list[Literal[NAMES]],
    Field(min_length=1, description="Remedies, by name."),
    AfterValidator(_each_once),
]
