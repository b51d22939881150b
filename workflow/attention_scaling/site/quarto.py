"""Renders a project with Quarto itself, where it is installed."""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from attention_scaling.errors import UserError
from attention_scaling.site.project import Project

_log = logging.getLogger(__name__)


def find() -> Path | None:
    """Return Quarto's command: the one on PATH, else the one beside this Python."""
    beside = Path(sys.executable).with_name("quarto")
    found = shutil.which("quarto") or shutil.which(beside)
    return Path(found) if found else None


def version(quarto: Path) -> str:
    """Quarto's version, such as `1.9.38`."""
    return _run([quarto, "--version"], None).strip()


def render(quarto: Path, project: Project, output: Path) -> None:
    """Write the site of `project` into the folder `output`.

    Quarto writes into the project that it renders (`.quarto`, `.gitignore`, libraries on their way to
    the site), so it is given a copy. Raises UserError when it fails; its whole output is logged.
    """
    with tempfile.TemporaryDirectory(prefix="quarto-") as folder:
        copy = Path(folder) / "project"
        shutil.copytree(project.root, copy, ignore=shutil.ignore_patterns("_site*", ".quarto"))
        _run([quarto, "render", copy, "--output-dir", "_rendered", "--no-cache"], copy)
        shutil.copytree(copy / "_rendered", output, dirs_exist_ok=True)


def _run(command: list[str | Path], folder: Path | None) -> str:
    process = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    if process.returncode:
        _log.error("%s", process.stdout)
        errors = [line for line in process.stdout.splitlines() if line.startswith("ERROR")]
        cause = errors[0] if errors else f"exit status {process.returncode}"
        raise UserError(f"Quarto failed: {command[0]} {command[1]}: {cause}")
    return process.stdout
