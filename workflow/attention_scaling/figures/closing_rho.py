"""The correlation at which a row closes, over widths, by number of keys: where its mean largest weight is 1/2."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import Tables, curve, divisors, picked, whole
from attention_scaling.figures.wording import DIVISOR_MARKUP, DIVISOR_WORDS, course, listing

KEYS = 4


def _table(tables: Tables) -> pd.DataFrame:
    return tables.rows("correlation", "closing_rho")


def _keys(table: pd.DataFrame) -> list[int]:
    return picked(whole(table, "n_keys"), KEYS)


def draw(tables: Tables) -> Figure:
    """A panel for each divisor under which some row closes by alignment, a series for each number of keys."""
    table = _table(tables)
    keys, shown = _keys(table), divisors(table)
    looks = style.series_looks([f"{n_keys} keys" for n_keys in keys])
    drawn, panels = style.figure(
        len(shown), height=2.3, legend_rows=-(-len(looks) // 4), titles=True
    )
    for axes, divisor in zip(panels, shown, strict=True):
        axes.set_title(style.DIVISOR_LOOKS[divisor].label)
        for n_keys, look in zip(keys, looks, strict=True):
            rows = table[(table["divisor"] == divisor) & (table["n_keys"] == n_keys)]
            style.curve(axes, curve(rows), look)
            style.points(axes, rows, look)
        axes.set_ylim(0.8 * table["value"].min(), 1.2)
        style.decades(axes)
        style.width_axis(axes, _widths(tables), label=axes is panels[-1])
        axes.set_ylabel(r"closing $\rho$")
        if len(table["d_k"].unique()) > 1:
            axes.text(0.97, 0.9, "closed", transform=axes.transAxes, ha="right", va="top")
            axes.text(0.03, 0.06, "open", transform=axes.transAxes, ha="left", va="bottom")
    style.legend(drawn, looks, columns=4, exact=False)
    return drawn


def _widths(tables: Tables) -> list[int]:
    """All widths that were tried, with or without a closing correlation."""
    table = tables.measurements
    return whole(table[table["quantity"] == "closing_rho"], "d_k")


def alt_text(tables: Tables) -> str:
    """How the closing correlation runs over the widths for each number of keys."""
    table = _table(tables).sort_values("d_k")
    courses = []
    for divisor in divisors(table):
        for n_keys in _keys(table):
            rows = table[(table["divisor"] == divisor) & (table["n_keys"] == n_keys)]
            if len(rows):
                between = f"from width {whole(rows, 'd_k')[0]} to {whole(rows, 'd_k')[-1]}"
                courses.append(
                    f"{DIVISOR_WORDS[divisor]}, {n_keys} keys, {between} it "
                    f"{course(list(rows['value']))}"
                )
    return f"Lines that part closed rows from open ones. The correlation at the line: {'; '.join(courses)}."


def caption(tables: Tables) -> str:
    """What is drawn, and which divisors have no such line."""
    table = tables.measurements[tables.measurements["quantity"] == "closing_rho"]
    absent = table[~table["divisor"].isin(divisors(_table(tables)))]
    reasons = {
        "closed": "closed without any alignment",
        "open": "open at every correlation that was tried",
    }
    notes = []
    for divisor in divisors(absent):
        mine = absent[absent["divisor"] == divisor]["skipped"].str.partition(" ")[0]
        found = [words for reason, words in reasons.items() if (mine == reason).any()]
        notes.append(f"{DIVISOR_MARKUP[divisor]}, rows are {' or '.join(found)}")
    text = (
        "Correlation of the aligned key at which the mean largest weight of a row is one half, exact; above a "
        f"line rows are closed. For {listing(_keys(_table(tables)))} keys."
    )
    return text + (f" No line: {'; '.join(notes)}." if notes else "")
