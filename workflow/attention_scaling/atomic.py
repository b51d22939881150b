"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attention_scaling.errors import UserError


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; renamed to `path` on success, removed on failure.

    Raises `UserError` when the folder or the file cannot be written (permissions, a full disk).
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        # Where nothing could be written there is nothing to remove either.
        with suppress(OSError):
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all; leave it untouched where it already says the same."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
