"""Reading the ledger: every lesson's file, checked against each other and against what is measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from attention_scaling.errors import UserError
from attention_scaling.ledger.documents import read_document
from attention_scaling.ledger.models import Lesson


def load_lesson(path: Path) -> Lesson:
    """The ledger file at `path`; `UserError` with file, line and key where it is wrong."""
    return read_document(path, Lesson)


def load_lessons(folder: Path, known: Mapping[str, Collection[str]] | None = None) -> list[Lesson]:
    """The ledger files of a folder, in the order of their names.

    `known` maps each experiment to the quantities it measures; with it, a query for anything else is
    refused. Raises `UserError` for that, for two equal ids, for two equal lesson names, and for a
    folder without ledger files.
    """
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise UserError(f"{folder}: no ledger files: needs one NAME.yaml for each lesson")
    lessons = [load_lesson(path) for path in paths]
    where: dict[str, Path] = {}
    names: dict[str, Path] = {}
    for path, lesson in zip(paths, lessons, strict=True):
        if lesson.lesson in names:
            raise UserError(f"{path}: lesson: {lesson.lesson} is also {names[lesson.lesson]}")
        names[lesson.lesson] = path
        for claim in lesson.entries:
            if claim.id in where:
                raise UserError(
                    f"{path}: claims: the id {claim.id} stands also in {where[claim.id]}"
                )
            where[claim.id] = path
        if known is not None:
            _check_queries(path, lesson, known)
    return lessons


def _check_queries(path: Path, lesson: Lesson, known: Mapping[str, Collection[str]]) -> None:
    for claim in lesson.entries:
        for query in claim.queries:
            if query.experiment not in known:
                raise UserError(
                    f"{path}: {claim.id}.measure.experiment: {query.experiment} is no experiment: "
                    f"allowed are {_listed(known)}"
                )
            if query.quantity not in known[query.experiment]:
                raise UserError(
                    f"{path}: {claim.id}.measure.quantity: {query.experiment} does not measure "
                    f"{query.quantity}: allowed are {_listed(known[query.experiment])}"
                )


def _listed(names: Collection[str] | Sequence[str]) -> str:
    return ", ".join(sorted(names))
