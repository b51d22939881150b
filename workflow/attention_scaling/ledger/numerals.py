r"""Every numeral in a lesson's text, in digits or in words.

What counts as a numeral:

- every run of digits, with its decimals and thousands separators ("0.1755", "2 981", "163,000"), wherever it
  stands: also in names and references ("float16", "GPT-2", "§4.2", "1706.03762"); several dots keep it
  together ("3.2.1"); a scale word belongs to it ("8 billion");
- superscript digits and vulgar fractions;
- number words from zero to trillion, joined where they follow each other ("eight thousand"; of "a hundred
  times", "hundred"), words in -fold ("tenfold"), and half, quarter, twice, double, triple and dozen in their
  inflections;
- "one" wherever it stands, be it number, article or pronoun, except in "one-hot", which is a name.

Ordinals ("the second cell") say places and do not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from attention_scaling.ledger.formulas import each_once
from attention_scaling.ledger.printed import plain

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
_SCALES = "hundreds? thousands? millions? billions? trillions?"
_SCALE = "(?:" + "|".join(_SCALES.split()) + ")"
_WORD = "(?:(?!one-hot)(?:" + "|".join(f"{_SMALL} {_SCALES}".split()) + "))"
_OTHERS = r"half|halves|halved|halving|quarters?|twice|thrice|doubl(?:es?|ed|ing)|tripl(?:es?|ed|ing)|dozens?"
_DIGITS = (
    r"(?:\d{1,3}(?:[,\u00a0\u2009\u202f]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*)"
    rf"(?:[ -]{_SCALE}\b)?"
    r"|[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+|[\u00bc-\u00be\u2150-\u215e]"
)
_NUMERAL = re.compile(
    rf"{_DIGITS}|\b(?:{_WORD}fold|{_WORD}(?:[ -]{_WORD})*|{_OTHERS})\b", re.IGNORECASE
)
_LATEX_SEPARATOR = re.compile(r"(?<=\d)(?:\\,|\{,\})(?=\d{3})")


@dataclass(frozen=True, order=True)
class Numeral:
    """A numeral, in the form that ledger files use, and the line on which it stands."""

    line: int
    text: str


def numerals(text: str, formulas_twice: bool = False) -> list[Numeral]:
    """The numerals of a text, in order.

    `formulas_twice` says that the text carries each formula twice (see `formulas`); it is counted once.
    """
    found = []
    for line, content in enumerate(text.split("\n"), start=1):
        once = each_once(content) if formulas_twice else content
        readable = _LATEX_SEPARATOR.sub("\N{THIN SPACE}", once)
        found += [Numeral(line, canonical(match.group())) for match in _NUMERAL.finditer(readable)]
    return found


def canonical(text: str) -> str:
    """A numeral in the form that ledger files use: lower case, no thousands separators, no hyphens."""
    return plain(text).lower().replace("-", " ").strip()
