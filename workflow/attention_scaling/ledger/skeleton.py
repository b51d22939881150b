"""The beginning of a new lesson's ledger file."""

from __future__ import annotations

import re
from pathlib import Path

from attention_scaling.atomic import atomic_path
from attention_scaling.errors import UserError

_SKELETON = """\
# The ledger of one lesson: what it claims, in our own words, and how each claim is checked.
# `python -m attention_scaling validate` checks this file, `claim ID` tells one claim's whole story,
# `coverage --suggest` lists the numerals of the text that no entry accounts for yet.
lesson: {name}
title: {title}
file: {name}.txt            # the lesson's text, in the folder `lessons_dir` of the config
# formulas_twice: true      # for a text that carries each formula twice, as seen and then as LaTeX
# coverage: ...             # how many numerals the text has: `coverage` says what should stand here

claims:
  # Kinds: exact, replayed, sampled, trend, trained, measured, cited.
  # A number as printed sets the tolerance: half a unit in its last place. Quote it.
  - id: {prefix}-1
    line: 1
    says: independent Gaussian vectors of width 64 have scores of typical size 8
    kind: sampled
    printed: "8"
    measure:
      experiment: variance
      quantity: score_size
      where: {{d_k: 64, divisor: none, distribution: gaussian, method: direct}}

  # A number in words: `value`, and the numeral that the text has.
  # - id: {prefix}-2
  #   line: 1
  #   says: four times the width gives at least twice the size
  #   kind: trend
  #   compare: at_least     # or at_most, less_than, more_than, between (with range: [low, high])
  #   value: 2
  #   numerals: [twice]
  #   measure: ...          # as above
  #   ratio_to: {{where: {{d_k: 16}}}}        # judge the quotient of the two cells

  # What is not measured says why.
  # - {{id: {prefix}-3, line: 1, says: ..., kind: trained, skipped: why it is not measured}}
  # - {{id: {prefix}-4, line: 1, says: ..., kind: cited, cited: the source}}

  # A difference that is known: differs: its explanation. It stays visible and fails no run.

# Numerals that claim nothing, each with the reason.
no_claim:
  - {{lines: 1, numerals: ["2"], why: section number}}
"""


def write(name: str, folder: Path) -> Path:
    """Write the skeleton of the lesson `name` into the ledger's folder; the path of the new file.

    Raises `UserError` for a name that cannot be one and for a file that is already there.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UserError(
            f"lesson {name!r}: allowed are lower-case letters and digits, parts joined by hyphens"
        )
    path = folder / f"{name}.yaml"
    if path.exists():
        raise UserError(f"{path}: exists already; choose another name")
    prefix = "".join(part[0] for part in name.split("-")).upper()
    title = name.replace("-", " ").capitalize()
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.write_text(
            _SKELETON.format(name=name, title=title, prefix=prefix), encoding="utf-8"
        )
    return path
