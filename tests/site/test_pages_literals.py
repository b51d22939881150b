"""No measured number is typed into a page: numbers in prose come from variables."""

from __future__ import annotations

import re

import pytest
from reader_study import ROOT

PAGES = sorted((ROOT / "reports").glob("*.qmd"))

# What may hold digits: front matter, code, formulas, shortcodes, addresses and attributes.
ELSEWHERE = re.compile(
    r"""
    \A---\n.*?\n---\n            # front matter
    | ^```.*?^```                # code blocks
    | `[^`\n]*`                  # code
    | \$\$.*?\$\$ | \$[^$\n]+\$  # formulas
    | \{\{<.*?>\}\}              # shortcodes
    | \]\([^)]*\)                # addresses of links
    | \{[^{}\n]*\}               # attributes
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f]\d+)*")
TITLES = re.compile(r"^(?:title|subtitle|description):(.*)$", re.MULTILINE)


def typed_numbers(text: str) -> list[str]:
    """Numbers in prose that look measured: decimals, and whole numbers from 100 on."""
    front_matter = re.match(r"\A---\n.*?\n---\n", text, re.DOTALL)
    titles = "\n".join(TITLES.findall(front_matter[0])) if front_matter else ""
    prose = ELSEWHERE.sub(" ", text) + "\n" + ELSEWHERE.sub(" ", titles)
    return [
        number
        for number in NUMBER.findall(prose)
        if not number.isdecimal() or int(number) >= 100  # small whole numbers count or define
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_number_is_typed(page):
    assert typed_numbers(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The weight is 0.35 at width 4.", ["0.35"]),
        ("At width 1024 it closes.", ["1024"]),
        ("From 20,000 rows.", ["20,000"]),
        ("**0.96**, [0.16](a.qmd) and a | 0.93 | cell", ["0.96", "0.16", "0.93"]),
        ("---\ntitle: It is 0.5\ntoc-depth: 3.5\n---\n\nText.", ["0.5"]),
        (
            "Above $0.9$, `x = 1.5`, {{< var a.b1.2 >}}, [a](b.qmd#c=1.25), []{#d-1.5}: 3 of 99 %.",
            [],
        ),
        ("```\n0.25\n```\n\n$$\n1.5\n$$\n", []),
    ],
)
def test_what_counts_as_typed(text, found):
    assert typed_numbers(text) == found
