"""The numbers that the page about attention as a computation speaks of: kernels, memory, time."""

from __future__ import annotations

import pandas as pd

from attention_scaling.backends import DTYPES, NAMES
from attention_scaling.figures.slices import Tables, kernel_errors, whole
from attention_scaling.figures.wording import (
    KERNEL_WORDS,
    VERSION_WORDS,
    count,
    listing,
    percent,
    plain,
    short,
)
from attention_scaling.site.values import (
    Variables,
    cell_values,
    first_row,
    say,
    some,
    some_items,
)


def kernels(tables: Tables) -> Variables:
    """Errors by dtype and way, and what dropout did."""
    every = tables.measurements[tables.measurements["experiment"] == "kernels"]
    measured = set(every[every["value"].notna()]["variant"])
    ran = [way for way in KERNEL_WORDS if way in measured - set(VERSION_WORDS)]
    errors = kernel_errors(tables.measured)
    ratios = tables.rows("kernels", "error_ratio")
    share = tables.rows("kernels", "dropout_zero_share")
    rescale = tables.rows("kernels", "dropout_rescale_error", dtype="float32")

    def largest(dtype: str, way: str) -> str:
        mine = errors[(errors["dtype"] == dtype) & (errors["variant"] == way)]
        return say(lambda: short(some(mine["value"]).max(), 2))

    return {
        "ran": say(lambda: listing(some_items(ran))),
        "error": {
            dtype: {way: largest(dtype, way) for way in KERNEL_WORDS}
            for dtype in DTYPES
            if dtype != "float64"
        },
        "largest_ratio": say(lambda: short(some(ratios["value"]).max())),
        "dropout": {
            "rate": say(lambda: plain(float(first_row(share)["theory"]))),
            "weights": say(lambda: count(int(first_row(share)["samples"]))),
            "share": cell_values(share)["measured"],
            "rescale": say(lambda: short(some(rescale["value"]).max(), 2)),
            "mean": cell_values(tables.rows("kernels", "dropout_output_mean"))["measured"],
        },
    }


def memory(tables: Tables) -> Variables:
    """Sizes in MiB at the largest number of positions, and how they grow."""
    peaks = tables.rows("memory", "peak_bytes")
    lengths = whole(peaks, "n_keys")

    def mebibytes(quantity: str, **labels: str) -> str:
        rows = tables.rows("memory", quantity, **labels)
        rows = rows[rows["n_keys"].isin(lengths[-1:])]
        return say(lambda: short(float(first_row(rows)["value"]) / 2**20))

    def growth(quantity: str, **labels: str) -> str:
        rows = tables.rows("memory", quantity, **labels)
        return say(lambda: short(float(first_row(rows)["value"])))

    def times() -> str:
        rows = peaks[(peaks["n_keys"] == lengths[-1]) & (peaks["cell"] == "backward")]
        plain_peak, tiled_peak = (
            float(first_row(rows[rows["variant"] == variant])["value"]) for variant in VERSION_WORDS
        )
        return short(plain_peak / tiled_peak, 2)

    return {
        "first_length": say(lambda: str(lengths[0])),
        "last_length": say(lambda: str(lengths[-1])),
        "d_k": say(lambda: listing(some_items([str(width) for width in whole(peaks, "d_k")]))),
        "times": say(times),
        **{
            variant: {
                **{
                    pass_: mebibytes("peak_bytes", variant=variant, cell=pass_)
                    for pass_ in ("forward", "backward")
                },
                "kept": mebibytes("kept_bytes", variant=variant),
                "growth": growth("peak_growth", variant=variant, cell="backward"),
                "kept_growth": growth("kept_growth", variant=variant),
            }
            for variant in VERSION_WORDS
        },
    }


def cost(tables: Tables) -> Variables:
    """Ratios at the longest rows, narrow and wide, and at the smallest of all; exponents of a row's cost."""
    every = tables.rows("cost", "time_ratio")
    lengths, widths = whole(every, "n_keys"), whole(every, "d_k")
    corners = {
        "small": (lengths[:1], widths[:1]),
        "narrow": (lengths[-1:], widths[:1]),
        "wide": (lengths[-1:], widths[-1:]),
    }

    def at(corner: str, quantity: str, **labels: str) -> pd.DataFrame:
        rows = tables.rows("cost", quantity, device="cpu", **labels)
        n_keys, d_k = corners[corner]
        return rows[rows["n_keys"].isin(n_keys) & rows["d_k"].isin(d_k)]

    def outside(corner: str, pass_: str, backend: str) -> str:
        rows = at(corner, "outside_share", cell=pass_, backend=backend)
        return say(lambda: percent(float(first_row(rows)["value"]), 0))

    seconds = tables.rows("cost", "row_seconds")
    longest = whole(seconds, "n_keys")[-1:]
    calls = tables.rows("cost", "call_share", device="cpu")["value"]

    def times() -> str:
        rows = seconds[seconds["n_keys"].isin(longest)]
        matrix, product = (
            float(first_row(rows[rows["variant"] == way])["value"]) for way in ("matrix", "product")
        )
        return short(matrix / product, 2)

    return {
        "first_length": say(lambda: str(lengths[0])),
        "last_length": say(lambda: str(lengths[-1])),
        "first_width": say(lambda: str(widths[0])),
        "last_width": say(lambda: str(widths[-1])),
        "counted": {
            variant: cell_values(tables.rows("cost", "flop_ratio", variant=variant))["measured"]
            for variant in VERSION_WORDS
        },
        **{
            backend: {
                **{
                    corner: {
                        "ratio": cell_values(
                            at(corner, "time_ratio", variant="plain", backend=backend)
                        )["measured"],
                        "blocks": cell_values(
                            at(corner, "time_ratio", variant="tiled", backend=backend)
                        )["measured"],
                        "products": cell_values(at(corner, "product_ratio", backend=backend))[
                            "measured"
                        ],
                        "outside_forward": outside(corner, "forward", backend),
                        "outside_backward": outside(corner, "backward", backend),
                    }
                    for corner in corners
                },
                "exponent": {
                    way: cell_values(
                        tables.rows("cost", "row_exponent", variant=way, backend=backend)
                    )["measured"]
                    for way in ("product", "matrix")
                },
            }
            for backend in NAMES
        },
        "row_length": say(lambda: str(longest[0])),
        "row_times": say(times),
        "call_share": say(lambda: percent(some(calls).max(), 0)),
    }
