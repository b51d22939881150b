"""The text of a page with its variables and included files put in, as Quarto would.

Both engines start here: Quarto itself only warns of an unknown variable and prints `?var:name`, and
in some places does not put a value in at all. Here these are errors, so that a page that renders with
one engine renders with the other.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from attention_scaling.errors import UserError
from attention_scaling.safe_yaml import SAFE_LOADER

_SHORTCODE = re.compile(r"(?<!\{)\{\{<\s*(.*?)\s*>\}\}")
_INCLUDE = re.compile(r"^\{\{<\s*include\s+(\S+)\s*>\}\}[ \t]*$", re.MULTILINE)
_CODE = re.compile(r"^(```+).*?^\1|`[^`\n]+`", re.DOTALL | re.MULTILINE)
# What is a formula to Pandoc, read from the start of the text, code aside.
_FORMULA = r"\$\$.+?\$\$|(?<!\\)\$(?!\s)(?:(?!\n\n)[^$])+?(?<!\s)\$(?!\d)"
# Where Quarto leaves a variable as it stands, or shows a placeholder for it, and what to write instead.
_UNPORTABLE = (
    (
        re.compile(_FORMULA, re.DOTALL),
        "variable inside a formula",
        "put it after the formula, as text",
    ),
    (
        re.compile(r"^#+ (?!.*\{#).*$", re.MULTILINE),
        "variable in a heading without an id",
        "end the heading with {#its-id}",
    ),
    (
        re.compile(r"^:::.*$", re.MULTILINE),
        "variable in the attributes of a block",
        "give a callout its title as a heading",
    ),
)


def load_variables(project: Path) -> dict[str, str]:
    """Read `_variables.yml` as dotted names: `{"a": {"b": "1"}}` becomes `{"a.b": "1"}`.

    Raises UserError for anything but mappings and plain values.
    """
    path = project / "_variables.yml"
    if not path.exists():
        return {}
    try:
        tree = yaml.load(path.read_text(encoding="utf-8"), Loader=SAFE_LOADER) or {}
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

    Raises UserError for a missing included file, for what `substitute` refuses, and for a variable
    where Quarto would not put its value.
    """
    text = _include(project, Path(page), page, ())
    prose = _CODE.sub("", text)
    for pattern, what, instead in _UNPORTABLE:
        for found in pattern.findall(prose):
            if "{{<" in found:
                raise UserError(f"{what}: {page}: {found}: {instead}")
    return substitute(text, variables, page)


def substitute(text: str, variables: Mapping[str, str], where: str) -> str:
    """Return `text` with the values of its variables; `where` is its file, for messages.

    Raises UserError for an unknown variable, and for a shortcode other than `var`.
    """

    def value(match: re.Match[str]) -> str:
        words = match[1].split()
        if len(words) != 2 or words[0] != "var":
            raise UserError(
                f"unknown shortcode: {where}: {match[0]}: pages use var and, alone on a line, include"
            )
        if words[1] not in variables:
            raise UserError(f"unknown variable: {where}: {words[1]}: not in _variables.yml")
        return variables[words[1]]

    return _SHORTCODE.sub(value, text)


def _include(project: Path, file: Path, page: str, chain: tuple[Path, ...]) -> str:
    if file in chain:
        raise UserError(f"file includes itself: {page}: {file}")
    try:
        text = (project / file).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"file cannot be read: {page}: {file}: {error.strerror}") from error

    def content(match: re.Match[str]) -> str:
        name = match[1]
        # Quarto takes a leading slash from the project's root, other paths from the page.
        target = Path(name[1:]) if name.startswith("/") else Path(page).parent / name
        return _include(project, target, page, (*chain, file)).rstrip("\n")

    return _INCLUDE.sub(content, text)
