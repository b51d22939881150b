"""Renders the website with Quarto or Pandoc, checks it, and puts it in the place of the old one."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from attention_scaling.errors import UserError
from attention_scaling.site import quarto
from attention_scaling.site.check import check
from attention_scaling.site.pandoc import renderer as pandoc
from attention_scaling.site.project import Project, load_project

ENGINES = ("auto", "quarto", "pandoc")


@dataclass(frozen=True)
class RenderResult:
    """The engine that rendered a site, its version, and the site's pages as paths in the site."""

    engine: str
    version: str
    pages: tuple[str, ...]


def render(project: Path, output: Path, engine: str = "auto") -> RenderResult:
    """Render the Quarto project in `project` as the site in `output`.

    `engine` is one of `ENGINES`; `auto` takes Quarto where there is one and Pandoc elsewhere. The
    site is made and checked beside `output`, which is replaced at the very end: a failure leaves it as
    it was.

    Raises UserError, naming the page and the cause, for a project that cannot be rendered and for a
    site that does not pass `attention_scaling.site.check.check`.
    """
    if engine not in ENGINES:
        raise UserError(f"unknown engine: {engine}: allowed are {', '.join(ENGINES)}")
    _restore(output)
    loaded = load_project(project)
    fresh = output.with_name(f"{output.name}.new")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        name, version = _render_with(engine, loaded, fresh)
        # GitHub Pages would leave out folders with a leading underscore otherwise.
        (fresh / ".nojekyll").touch()
        _require_sound(loaded, fresh)
        _replace(output, fresh)
    except OSError as error:
        raise UserError(f"site cannot be written: {error.filename}: {error.strerror}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return RenderResult(name, version, tuple(page.href for page in loaded.pages))


def _render_with(engine: str, project: Project, fresh: Path) -> tuple[str, str]:
    command = None if engine == "pandoc" else quarto.find()
    if command:
        quarto.render(command, project, fresh)
        return "quarto", quarto.version(command)
    if engine == "quarto":
        raise UserError("Quarto is absent: neither on PATH nor beside Python: use engine pandoc")
    pandoc.render(project, fresh)
    return "pandoc", pandoc.version()


def _require_sound(project: Project, fresh: Path) -> None:
    for page in project.pages:
        if not (fresh / page.href).is_file():
            raise UserError(f"page was not rendered: {page.path}: absent from the site")
    problems = check(fresh)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UserError(f"site check failed: {problems[0]}{more}")


def _aside(output: Path) -> Path:
    """Where the old site is while the new one takes its place."""
    return output.with_name(f"{output.name}.old")


def _restore(output: Path) -> None:
    """Put the old site back where the new one did not come into its place; a killed run leaves it aside."""
    with suppress(OSError):  # whoever writes next says what is wrong
        # For a job's output Snakemake makes an empty folder, which a rename replaces.
        if not (output.exists() and any(output.iterdir())):
            _aside(output).rename(output)


def _replace(output: Path, fresh: Path) -> None:
    old = _aside(output)
    if old.exists():
        shutil.rmtree(old)
    if output.exists():
        output.rename(old)
    try:
        fresh.rename(output)
    except BaseException:  # an interrupt too
        _restore(output)
        raise
    shutil.rmtree(old, ignore_errors=True)
