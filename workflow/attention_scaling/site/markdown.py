"""Markdown as the generated parts of pages write it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|$~^@#&'\"])|(-(?=-)|\.(?=\.\.))")


def escape(text: str) -> str:
    """Plain text as Markdown that shows it letter for letter."""
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", " ".join(text.split()))


def code(text: str) -> str:
    """Text as inline code, backticks and all."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def badge(verdict: str, outcome: str | None = None) -> str:
    """A verdict in the stylesheet's look for it, worded as `outcome` where that says more."""
    return f"[{outcome or verdict}]{{.verdict .verdict-{verdict}}}"


def table(
    headers: Sequence[str],
    align: str,
    rows: Iterable[Sequence[str]],
    *,
    caption: str | None = None,
    label: str | None = None,
) -> str:
    """A pipe table; `align` has a letter a column, l or r. Cells are Markdown without line breaks or pipes."""
    rules = {"l": ":--", "r": "--:"}
    lines = [headers, [rules[letter] for letter in align], *rows]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
    if caption:
        text += f"\n: {caption}{f' {{#tbl-{label}}}' if label else ''}\n"
    return text
