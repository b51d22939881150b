"""Time to take a gradient through the softmax of a row, with and without its Jacobian, over the row's length."""

from __future__ import annotations

from matplotlib.figure import Figure

from attention_scaling.figures import style
from attention_scaling.figures.slices import BACKEND_NAMES, Tables, whole
from attention_scaling.figures.wording import listing, short, with_error

WAYS = {"matrix": "with the Jacobian", "product": "without it"}
MICROSECOND = 1e-6


def draw(tables: Tables) -> Figure:
    """A series for each way."""
    table = tables.rows("cost", "row_seconds")
    table = table.assign(
        value=table["value"] / MICROSECOND, stderr=table["stderr"].astype(float) / MICROSECOND
    )
    drawn, (axes,) = style.figure(height=2.6, legend_rows=1, left=0.86)
    looks = style.series_looks(list(WAYS.values()))
    for way, look in zip(WAYS, looks, strict=True):
        rows = table[table["variant"] == way]
        style.points(axes, rows, look, x="n_keys")
        for _, mine in rows.groupby(["backend", "device"]):
            style.curve(axes, mine, look, x="n_keys")
    style.length_axis(axes, whole(table, "n_keys"))
    style.decades(axes)
    axes.set_xlabel("weights in the row, $n$")
    axes.set_ylabel("time a row (µs)")
    style.legend(drawn, looks, table, columns=4, exact=False)
    return drawn


def alt_text(tables: Tables) -> str:
    """How many times as long the Jacobian takes at the longest row."""
    table = tables.rows("cost", "row_seconds")
    longest = whole(table, "n_keys")[-1]
    means = table[table["n_keys"] == longest].groupby("variant")["value"].mean()
    times = means.get("matrix", float("nan")) / means.get("product", float("nan"))
    return (
        f"Two rising lines in log-log axes, one twice as steep. For a row of {longest} weights the way with the "
        f"Jacobian takes {short(times)} times as long."
    )


def caption(tables: Tables) -> str:
    """What is drawn, and the fitted exponents."""
    exponents = []
    for way, words in WAYS.items():
        rows = tables.rows("cost", "row_exponent", variant=way).sort_values(["backend", "device"])
        for row in rows.itertuples():
            name = BACKEND_NAMES[row.backend, row.device]
            exponents.append(f"{with_error(row.value, row.stderr)} {words} ({name})")
    fitted = f" Fitted exponents: {listing(exponents)}." if exponents else ""
    return (
        "Time to take the gradient at a row of weights back to its scores: by building the Jacobian and "
        "multiplying, and by the product that does without it. Rows are worked on together, as many as make "
        f"arrays of one size. Medians over rounds; lines join the points.{fitted}"
    )
