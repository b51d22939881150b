"""The text of a page with its variables and included files put in, as Quarto would.

Both engines start here: Quarto itself only warns of an unknown variable and prints `?var:name`,
and shows a hexadecimal placeholder for a variable inside a formula. Here both are errors.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from attention_scaling.errors import UserError

_SHORTCODE = re.compile(r"\{\{<\s*(.*?)\s*>\}\}")
_INCLUDE = re.compile(r"^\{\{<\s*include\s+(\S+)\s*>\}\}[ \t]*$", re.MULTILINE)
# Code comes first so that a dollar sign in it opens no formula; the formulas are groups 1 and 2.
_CODE_OR_MATH = re.compile(
    r"```.*?```|`[^`\n]+`|\$\$(.+?)\$\$|(?<![\\$])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)", re.DOTALL
)


def load_variables(project: Path) -> dict[str, str]:
    """Read `_variables.yml` as dotted names: `{"a": {"b": "1"}}` becomes `{"a.b": "1"}`.

    Raises UserError for anything but mappings and plain values.
    """
    path = project / "_variables.yml"
    if not path.exists():
        return {}
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        raise UserError(f"unreadable YAML: {path}: {error}") from error
    flat: dict[str, str] = {}

    def collect(prefix: str, node: object) -> None:
        if isinstance(node, Mapping):
            for key, value in node.items():
                collect(f"{prefix}.{key}" if prefix else str(key), value)
        elif isinstance(node, str | int | float):
            flat[prefix] = str(node)
        else:
            raise UserError(f"variable is no text or number: {path}: {prefix}")

    collect("", tree)
    return flat


def expand(project: Path, page: str, variables: Mapping[str, str]) -> str:
    """Return the Markdown of `page` (a path relative to `project`) without shortcodes.

    Raises UserError for an unknown variable, a missing included file, a variable inside a
    formula, or a shortcode other than `var` and `include`.
    """
    text = _include(project, Path(page), page, ())
    for match in _CODE_OR_MATH.finditer(text):
        formula = match[1] or match[2]
        if formula and "{{<" in formula:
            raise UserError(
                f"variable inside a formula: {page}: ${formula}$: put it after the formula, as text"
            )

    def substitute(match: re.Match[str]) -> str:
        words = match[1].split()
        if len(words) != 2 or words[0] != "var":
            raise UserError(
                f"unknown shortcode: {page}: {match[0]}: pages use var and, alone on a line, include"
            )
        if words[1] not in variables:
            raise UserError(f"unknown variable: {page}: {words[1]}: not in _variables.yml")
        return variables[words[1]]

    return _SHORTCODE.sub(substitute, text)


def _include(project: Path, file: Path, page: str, chain: tuple[Path, ...]) -> str:
    if file in chain:
        raise UserError(f"file includes itself: {page}: {file}")
    try:
        text = (project / file).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"file cannot be read: {page}: {file}: {error.strerror}") from error

    def substitute(match: re.Match[str]) -> str:
        name = match[1]
        # Quarto takes a leading slash from the project's root, other paths from the page.
        target = Path(name[1:]) if name.startswith("/") else Path(page).parent / name
        return _include(project, target, page, (*chain, file)).rstrip("\n")

    return _INCLUDE.sub(substitute, text)
