r"""Texts taken from web pages, which carry each formula twice: as it is seen, and then as LaTeX.

No space stands between the two: `11` means 1, `dk=64d_k = 64` means d_k = 64, `0.6700.670` means 0.670. This
module drops the visible form, because in the LaTeX the parts of a number stand together (`e2` is seen where
`e^{2}` is meant, and `3−1=23 - 1 = 2` where 3 - 1 = 2 is).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_SYMBOLS = {
    "alpha": "α",
    "approx": "≈",
    "cdot": "⋅",
    "ell": "ℓ",
    "exp": "exp",
    "log": "log",
    "nabla": "∇",
    "neq": "≠",
    "partial": "∂",
    "pm": "±",
    "rho": "ρ",
    "sigma": "σ",
    "sum": "∑",
    "times": "×",
    "top": "⊤",
}
"""What commands show; those not listed here (fonts, fractions, roots, spaces) show nothing of their own."""

_TOKEN = re.compile(r"\\(?P<command>[A-Za-z]+)|\\.|(?P<character>.)")

_UNSEEN = "{}_^"


def each_once(line: str) -> str:
    """`line` with every formula as LaTeX alone.

    Where readings overlap the longest is taken, so that in `200200` the number is 200.
    """
    readings = sorted(_readings(line), key=lambda reading: reading[0] - reading[2])
    taken: list[tuple[int, int, int]] = []
    for reading in readings:
        if all(reading[2] <= other[0] or other[2] <= reading[0] for other in taken):
            taken.append(reading)
    kept, position = [], 0
    for visible, latex, end in sorted(taken):
        # The spaces keep the formula's numbers apart from what stands beside it.
        kept += [line[position:visible], " ", line[latex:end], " "]
        position = end
    return "".join(kept) + line[position:]


def _readings(line: str) -> Iterator[tuple[int, int, int]]:
    """Where a visible form may begin, its LaTeX begin, and both end."""
    run = 0
    for latex in range(1, len(line)):
        if line[latex - 1] == " ":
            # A visible form has no ordinary spaces.
            run = latex
            continue
        shown = ""
        best = None
        for end, letters in _tokens(line, latex):
            shown += letters
            visible = _suffix(line, run, latex, shown)
            if visible is None:
                if len(shown) > latex - run:
                    break
            elif _is_formula(line, visible, latex, end):
                best = visible, latex, end
        if best:
            yield best


def _tokens(line: str, start: int) -> Iterator[tuple[int, str]]:
    """The LaTeX tokens from `start` on: where each ends, and what it shows."""
    for match in _TOKEN.finditer(line, start):
        if match["command"]:
            yield match.end(), _SYMBOLS.get(match["command"], "")
        elif match["character"]:
            yield match.end(), _seen(match["character"])
        else:
            yield match.end(), ""


def _seen(character: str) -> str:
    """What a character shows: no spaces, no braces, one kind of minus."""
    if character in _UNSEEN or unicodedata.category(character) in ("Zs", "Cf"):
        return ""
    return "\N{MINUS SIGN}" if character == "-" else character


def _suffix(line: str, run: int, end: int, shown: str) -> int | None:
    """Where the text before `end` begins to read as `shown`; None where it does not."""
    position = end
    for wanted in reversed(shown):
        while position > run and not _seen(line[position - 1]):
            position -= 1
        if position == run or _seen(line[position - 1]) != wanted:
            return None
        position -= 1
    return position if shown else None


def _is_formula(line: str, visible: int, latex: int, end: int) -> bool:
    """Whether what repeats is a formula, and a whole one, not a chance within a word or a number."""
    if line[end - 1].isspace():
        return False
    before, after = line[visible - 1 : visible], line[end : end + 1]
    if line[visible].isalnum() and (before.isalnum() or before == "."):
        return False
    if line[end - 1].isalnum() and after.isalnum():
        return False
    source = line[latex:end]
    if any(mark in source for mark in "\\_^"):
        return source.count("{") == source.count("}")
    # Without LaTeX's marks the repetition itself must show it: digits that stand alone, `11`, `1/T1/T`.
    return any(map(str.isdigit, source)) and before in ("", " ")
