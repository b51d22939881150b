"""The derivative of an output by a tiny score, over the number of keys."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, sampled, samples, whole
from attention_scaling.figures.wording import count, short, with_error


def _table(tables: Tables) -> pd.DataFrame:
    return sampled(tables.rows("gradient", "tiny_derivative_size"))


def draw(tables: Tables) -> Figure:
    """Points on the line of even weights."""
    table = _table(tables)
    drawn, (axes,) = style.figure(height=2.4, legend_rows=1, left=0.86)
    (look,) = style.series_looks(["measured"])
    style.points(axes, table, look, x="n_keys")
    even = table.drop_duplicates("n_keys").assign(value=lambda rows: rows["theory"])
    style.curve(axes, even, look, x="n_keys")
    style.length_axis(axes, whole(table, "n_keys"))
    style.decades(axes)
    axes.set_xlabel("keys in the row, $T$")
    axes.set_ylabel("derivative (size)")
    style.legend(drawn, [], table, columns=4)
    return drawn


def alt_text(tables: Tables) -> str:
    """The sizes at both ends."""
    means = _table(tables).groupby("n_keys")["value"].mean()
    return (
        f"Points on a falling straight line in log-log axes: the derivative has size {short(means.iloc[0])} for "
        f"{means.index[0]:g} keys and {short(means.iloc[-1])} for {means.index[-1]:g}."
    )


def caption(tables: Tables) -> str:
    """What is drawn, and the fitted slope."""
    slopes = tables.rows("gradient", "tiny_derivative_slope").sort_values(["backend", "device"])
    fitted = [f" Fitted slope: {with_error(row.value, row.stderr)}." for row in slopes.itertuples()]
    return (
        "Size of an output coordinate's derivative by one of its scores, for scores of a thousandth and values "
        f"of size 1, over {count(samples(_table(tables)))} rows a point. Line: even weights, "
        f"$\\sqrt{{1 - 1/T}} / T$.{''.join(fitted[:1])}"
    )
