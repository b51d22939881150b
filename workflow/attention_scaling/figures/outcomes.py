"""What became of each claim, over all backends that measured it."""

from __future__ import annotations

import pandas as pd

OUTCOMES = (
    "reproduced",
    "consistent",
    "differs, explained",
    "differs",
    "inconclusive",
    "cited",
    "skipped",
)
"""In the order in which they are shown."""

_GRAVITY = (
    "skipped",
    "cited",
    "reproduced",
    "consistent",
    "inconclusive",
    "differs, explained",
    "differs",
)
"""From what weighs least to what weighs most where the rows of a claim disagree."""


def outcome_of_row(verdict: str, expected: bool) -> str:
    """The outcome that one verdict stands for: a difference is explained or it is not."""
    return "differs, explained" if verdict == "differs" and expected else verdict


def outcomes(verdicts: pd.DataFrame) -> pd.Series:
    """The outcome of each claim, indexed by claim in the table's order: the gravest of its verdicts.

    A device that was not there does not count against a claim that another one measured.
    """
    gravest: dict[str, str] = {}
    for claim, verdict, expected in zip(
        verdicts["claim"], verdicts["verdict"], verdicts["expected"], strict=True
    ):
        found = outcome_of_row(verdict, bool(expected))
        gravest[claim] = max(gravest.get(claim, found), found, key=_GRAVITY.index)
    return pd.Series(gravest, dtype="object", name="outcome")


def counts_by_lesson(verdicts: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each lesson (rows) had each outcome (columns, in the order of OUTCOMES)."""
    found = outcomes(verdicts)
    lessons = verdicts.drop_duplicates("claim").set_index("claim")["lesson"]
    counts = pd.crosstab(lessons.loc[found.index].to_numpy(), found.to_numpy())
    counts = counts.reindex(columns=list(OUTCOMES), fill_value=0)
    return counts.reindex(lessons.unique())
