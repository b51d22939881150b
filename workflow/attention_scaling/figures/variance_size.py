"""The typical size of a score over widths, undivided and under each divisor, in log-log axes."""

from __future__ import annotations

from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, divisors, exact, sampled, samples, whole, words
from attention_scaling.figures.wording import (
    DIVISOR_MARKUP,
    DIVISOR_WORDS,
    count,
    law_words,
    listing,
    short,
    with_error,
)

LAW = "gaussian"


def shown_law(tables: Tables) -> str:
    """The law of the entries that stands for the others: Gaussian where it was measured."""
    laws = words(tables.rows("variance", "score_size"), "distribution")
    return LAW if LAW in laws else laws[0]


def draw(tables: Tables) -> Figure:
    """Points and exact lines for each divisor, the fitted slope beside each line's end."""
    table = tables.rows("variance", "score_size", distribution=shown_law(tables))
    drawn, (axes,) = style.figure(height=3.1, legend_rows=2)
    for divisor in divisors(table):
        rows, look = table[table["divisor"] == divisor], style.DIVISOR_LOOKS[divisor]
        style.curve(axes, exact(rows), look)
        style.points(axes, sampled(rows), look)
    style.width_axis(axes, whole(table, "d_k"))
    style.decades(axes)
    axes.set_ylabel(r"typical size $\sqrt{E[e^2]}$ (1)")
    looks = [style.DIVISOR_LOOKS[divisor] for divisor in divisors(table)]
    style.legend(drawn, looks, sampled(table))
    return drawn


def _slopes(tables: Tables) -> list[str]:
    table = tables.rows("variance", "size_slope", distribution=shown_law(tables), method="derived")
    return [
        f"{DIVISOR_MARKUP[row.divisor]} {with_error(row.value, row.stderr)}"
        for row in table[table["backend"] == table["backend"].min()].itertuples()
    ]


def alt_text(tables: Tables) -> str:
    """Slopes and end points of the lines."""
    table = sampled(tables.rows("variance", "score_size", distribution=shown_law(tables)))
    ends = []
    for divisor in divisors(table):
        means = table[table["divisor"] == divisor].groupby("d_k")["value"].mean()
        first, last = means.index.min(), means.index.max()
        ends.append(
            f"{DIVISOR_WORDS[divisor]} {short(means[first])} at width {first:g} "
            f"and {short(means[last])} at width {last:g}"
        )
    distances = ((table["value"] - table["theory"]) / table["stderr"]).abs().dropna()
    near = f" No point is more than {short(distances.max())} standard errors off its exact line."
    return (
        f"A straight line for each divisor in log-log axes. Typical size of the score: {'; '.join(ends)}."
        f"{near if len(distances) else ''}"
    )


def caption(tables: Tables) -> str:
    """What is drawn, and the fitted slopes."""
    table = tables.rows("variance", "score_size", distribution=shown_law(tables))
    slopes = _slopes(tables)
    fitted = f" Fitted slopes: {listing(slopes)}." if slopes else ""
    return (
        f"Typical size of the score over widths, {law_words(shown_law(tables))} entries, "
        f"{count(samples(table))} pairs of query and key a point; bars of two standard errors are "
        f"smaller than the marks.{fitted}"
    )
