"""Try once to get Quarto into .venv, and leave nothing behind where that does not work.

The PyPI package is a shell that fetches Quarto from its release page while it is installed. Where that
page cannot be reached, Pandoc, which comes with the packages, renders the same pages.
"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

PACKAGE = "quarto-cli==1.9.38"
SECONDS = 180


def version(command: str | Path) -> str | None:
    """What `quarto --version` prints; None where it does not run."""
    try:
        answer = subprocess.run(
            [command, "--version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


def find(venv: Path) -> str | None:
    """The version of the Quarto that would be used: the one on PATH, else the one in `venv`."""
    on_path = shutil.which("quarto")
    return (on_path and version(on_path)) or version(venv / "bin" / "quarto")


def install(run: Callable[..., bool], venv: Path) -> str:
    """Try to install Quarto where there is none, within a time limit. Says what became of it."""
    if find(venv):
        return "present"
    pip = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "install", "--no-deps", PACKAGE, timeout=SECONDS)
    if find(venv):
        return "installed"
    run(*pip, "uninstall", "--yes", PACKAGE.partition("==")[0])
    return "not to be had"


def renderer(venv: Path) -> str:
    """The sentence that says what renders the site."""
    quarto = find(venv)
    return (
        f"Quarto {quarto} renders the site" if quarto else "no Quarto, so Pandoc renders the site"
    )
