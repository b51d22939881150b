"""How many claims of each lesson came out how."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from attention_scaling.figures import style
from attention_scaling.figures.outcomes import OUTCOMES, counts_by_lesson
from attention_scaling.figures.slices import Tables
from attention_scaling.figures.wording import count, listing

_LOOKS = {
    "reproduced": (style.LIGHT.blue, ""),
    "consistent": (style.LIGHT.green, "///"),
    "differs, explained": (style.LIGHT.gold, "xx"),
    "differs": (style.LIGHT.orange, "xxxx"),
    "inconclusive": (style.LIGHT.purple, "\\\\\\"),
    "cited": (style.LIGHT.grey, "---"),
    "skipped": (style.LIGHT.grid, ""),
}

_NARROW = 0.045
"""A segment below this share of the longest bar has no room for its number."""


def drawable(tables: Tables) -> bool:
    """Whether there are verdicts."""
    return len(tables.verdicts) > 0


def draw(tables: Tables) -> Figure:
    """A bar for each lesson, a segment for each outcome with its count in it."""
    counts = counts_by_lesson(tables.verdicts)
    outcomes = [outcome for outcome in OUTCOMES if counts[outcome].sum()]
    drawn, (axes,) = style.figure(
        height=0.62 * len(counts) + 0.1, legend_rows=-(-len(outcomes) // 3)
    )
    longest = counts.to_numpy().sum(axis=1).max()
    for place, (lesson, row) in enumerate(counts.iterrows()):
        start = 0
        for outcome in outcomes:
            colour, hatch = _LOOKS[outcome]
            axes.barh(
                place,
                row[outcome],
                left=start,
                height=0.42,
                facecolor=colour,
                hatch=hatch,
                edgecolor=style.LIGHT.ink,
                linewidth=0.7,
                alpha=0.75,
            )
            if row[outcome] > _NARROW * longest:
                axes.text(
                    start + row[outcome] / 2,
                    place,
                    str(row[outcome]),
                    ha="center",
                    va="center",
                    bbox={
                        "boxstyle": "round,pad=0.15",
                        "facecolor": style.LIGHT.page,
                        "linewidth": 0,
                    },
                )
            start += row[outcome]
        axes.text(0, place - 0.3, lesson, ha="left", va="bottom", color=style.LIGHT.ink)
    axes.set_ylim(len(counts) - 0.65, -0.75)
    axes.set_yticks([])
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("claims (number)")
    style.legend(
        drawn,
        [],
        exact=False,
        extra=[
            Patch(
                facecolor=_LOOKS[outcome][0],
                hatch=_LOOKS[outcome][1],
                edgecolor=style.LIGHT.ink,
                alpha=0.75,
                label=outcome,
            )
            for outcome in outcomes
        ],
    )
    return drawn


def alt_text(tables: Tables) -> str:
    """The counts, lesson by lesson."""
    lines = []
    for lesson, row in counts_by_lesson(tables.verdicts).iterrows():
        parts = [f"{row[outcome]} {outcome}" for outcome in OUTCOMES if row[outcome]]
        lines.append(f"{lesson}: {listing(parts)}")
    return f"One bar for each lesson, its claims by outcome. {'; '.join(lines)}."


def caption(tables: Tables) -> str:
    """What is counted."""
    counts = counts_by_lesson(tables.verdicts)
    return (
        f"The {count(int(counts.to_numpy().sum()))} claims of the ledger by what the study makes of "
        f"them. A claim that several backends measured counts once, with the least favourable of its "
        f"verdicts."
    )
