"""Rounding errors of PyTorch's kernels and of the versions here, by dtype."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_scaling.backends import DTYPES
from attention_scaling.figures import style
from attention_scaling.figures.slices import KERNEL_RESULTS, Tables, kernel_errors
from attention_scaling.figures.wording import KERNEL_WORDS, listing, short
from attention_scaling.theory.overflow import FORMATS

SPACING = {name: number_format.spacing for name, number_format in FORMATS.items()}


def _table(tables: Tables) -> pd.DataFrame:
    """The errors, those to draw in units of their dtype's spacing."""
    table = kernel_errors(tables.measured)
    return table.assign(spacings=table["value"] / table["dtype"].map(SPACING))


def draw(tables: Tables) -> Figure:
    """A panel for each dtype, a line for each version, a mark for each result."""
    table = _table(tables)
    dtypes = [dtype for dtype in DTYPES if (table["dtype"] == dtype).any()]
    versions = [version for version in KERNEL_WORDS if (table["variant"] == version).any()]
    place = {version: index for index, version in enumerate(versions)}
    height = 0.3 * len(versions) + 0.2
    drawn, panels = style.figure(len(dtypes), height=height, legend_rows=1, titles=True, left=1.62)
    looks = style.series_looks(list(KERNEL_RESULTS.values()))
    for axes, dtype in zip(panels, dtypes, strict=True):
        axes.set_title(dtype)
        for quantity, look in zip(KERNEL_RESULTS, looks, strict=True):
            rows = table[(table["dtype"] == dtype) & (table["quantity"] == quantity)]
            rows = rows.assign(place=rows["variant"].map(place))
            style.points(axes, rows, look, "spacings", "place")
        axes.set_yticks(range(len(versions)), [KERNEL_WORDS[version] for version in versions])
        axes.set_ylim(len(versions) - 0.5, -0.5)
        axes.set_xlim(0, 1.1 * table[table["dtype"] == dtype]["spacings"].max())
    panels[-1].set_xlabel("error (spacings of the format)")
    style.legend(drawn, looks, columns=4, lines=False)
    return drawn


def alt_text(tables: Tables) -> str:
    """Largest error of ours and of PyTorch's math kernel, by dtype."""
    table = _table(tables)
    parts = []
    for dtype in table["dtype"].unique():
        largest = table[table["dtype"] == dtype].groupby("variant")["value"].max()
        errors = [
            f"{short(largest[version], 2)} with {KERNEL_WORDS[version]}"
            for version in KERNEL_WORDS
            if version in largest
        ]
        parts.append(f"{dtype}: {listing(errors)}")
    return (
        "A panel for each dtype, a row of four marks for each version. "
        f"Largest relative errors, {'; '.join(parts)}."
    )


def caption(tables: Tables) -> str:
    """What is drawn."""
    keys, widths = _table(tables)["n_keys"].dropna(), _table(tables)["d_k"].dropna()
    return (
        "Root mean square error of output and gradients against the same call in float64, relative to their "
        "size and in units of the format's spacing at 1, so that dtypes can be compared: "
        f"{keys.iloc[0]:g} positions, width {widths.iloc[0]:g}. Each row is one way to compute them; "
        "PyTorch's gradients are by autograd. Kernels that this machine does not have are left out."
    )
