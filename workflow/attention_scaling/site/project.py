"""A Quarto website project as both engines see it: its configuration and its pages."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from attention_scaling.errors import UserError
from attention_scaling.site.sources import expand, load_variables, substitute

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)


@dataclass(frozen=True)
class Page:
    """One page: its path in the project, its front matter, and its Markdown without shortcodes."""

    path: str
    meta: Mapping[str, Any] = field(repr=False)
    source: str = field(repr=False)

    @property
    def href(self) -> str:
        """Path of the rendered page in the site."""
        return self.path.removesuffix(".qmd") + ".html"

    @property
    def title(self) -> str:
        """The title in the front matter."""
        return str(self.meta["title"])


@dataclass(frozen=True)
class Project:
    """The project at `root`: `config` is `_quarto.yml`, `pages` are in the order of their paths."""

    root: Path
    config: Mapping[str, Any] = field(repr=False)
    pages: tuple[Page, ...]

    @property
    def website(self) -> Mapping[str, Any]:
        """The configuration under `website`."""
        return self.config["website"]

    @property
    def html(self) -> Mapping[str, Any]:
        """The configuration under `format: html`."""
        html = self.config.get("format", {}).get("html", {})
        return html if isinstance(html, Mapping) else {}


def load_project(root: Path) -> Project:
    """Read the project at `root`, with every page expanded.

    Raises UserError for a folder without a project, unreadable YAML, a page without a title, or a page
    that `attention_scaling.site.sources.expand` refuses.
    """
    path = root / "_quarto.yml"
    if not path.exists():
        raise UserError(f"not a Quarto project: {root}: has no _quarto.yml")
    variables = load_variables(root)
    config = _mapping(substitute(path.read_text(encoding="utf-8"), variables, str(path)), str(path))
    if not isinstance(config.get("website"), Mapping) or "title" not in config["website"]:
        raise UserError(f"website without a title: {path}: website: title is required")
    pages = tuple(_page(root, name, variables) for name in _page_names(root))
    if not pages:
        raise UserError(f"project without pages: {root}: holds no .qmd file")
    return Project(root, config, pages)


def _page_names(root: Path) -> list[str]:
    # As Quarto does: names that start with a dot or an underscore are no pages.
    relative = (path.relative_to(root) for path in root.rglob("*.qmd"))
    return sorted(
        path.as_posix()
        for path in relative
        if not any(part.startswith((".", "_")) for part in path.parts)
    )


def _page(root: Path, name: str, variables: Mapping[str, str]) -> Page:
    source = expand(root, name, variables)
    front_matter = _FRONT_MATTER.match(source)
    meta = _mapping(front_matter[1], name) if front_matter else {}
    if not meta.get("title"):
        raise UserError(f"page without a title: {name}: the front matter needs title")
    return Page(name, meta, source)


def _mapping(text: str, where: str) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"unreadable YAML: {where}: {error}") from error
    if not isinstance(content, Mapping):
        raise UserError(f"unreadable YAML: {where}: a mapping of keys is required")
    return content
