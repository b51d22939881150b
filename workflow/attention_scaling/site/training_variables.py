"""The numbers that the page about remedies and training speaks of."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from attention_scaling.figures.slices import (
    Tables,
    by_rate,
    main_sweep,
    picked,
    recall_sweep,
    shown_keys,
    trained,
    whole,
)
from attention_scaling.figures.wording import plain, short, with_error
from attention_scaling.remedies import NAMES
from attention_scaling.site.values import (
    Variables,
    as_number,
    as_percent,
    cell_values,
    first_row,
    say,
    some,
)

QUANTITIES = (
    "loss",
    "right_logit",
    "logit_max",
    "alignment",
    "capacity",
    "bound_use",
    "frozen_share",
)
SLOPES = ("right_logit_slope", "logit_max_slope")
SHARES = ("frozen_share",)
EARLY = 32
"""A step at which heads that start well have learned the task."""


def continuum(tables: Tables) -> Variables:
    """Which correlation and widths, and the capacity under the root and the width before and after."""
    table = tables.rows("continuum", "capacity")
    widths, rhos = whole(table, "d_k"), sorted(table["rho"].unique())

    def at(rho: list[float], variant: str) -> Variables:
        rows = table[table["rho"].isin(rho) & (table["variant"] == variant)]
        return {
            place: cell_values(rows[rows["d_k"].isin(d_k)])["exact"]
            for place, d_k in (("first", widths[:1]), ("last", widths[-1:]))
        }

    return {
        "rho": say(lambda: f"{rhos[-1]:g}"),
        "first_width": say(lambda: str(widths[0])),
        "last_width": say(lambda: str(widths[-1])),
        "keys": say(lambda: str(whole(table, "n_keys")[0])),
        "before": {name: at(rhos[:1], variant) for name, variant in _DIVISORS.items()},
        "after": {name: at(rhos[-1:], variant) for name, variant in _DIVISORS.items()},
    }


_DIVISORS = {"root": "p=0.50", "width": "p=1.00"}


def remedies(tables: Tables) -> Variables:
    """Slopes over the widths of fresh heads, by remedy."""
    table = tables.rows("remedies")
    table = table[table["n_keys"] == shown_keys(table)]
    widths = whole(table, "d_k")
    return {
        "first_width": say(lambda: str(widths[0])),
        "last_width": say(lambda: str(widths[-1])),
        **{
            variant: {
                quantity: cell_values(
                    table[(table["variant"] == variant) & (table["quantity"] == quantity)]
                )["measured"]
                for quantity in ("score_size_slope", "gradient_norm_query_slope")
            }
            for variant in NAMES
        },
    }


def training(tables: Tables) -> Variables:
    """By remedy, quantity, width (first, last) and time (start, early, end); slopes, ratios, best rates."""
    sweep = main_sweep(tables)
    losses = trained(tables, "loss", cell=sweep)
    widths, steps = whole(losses, "d_k"), whole(losses, "step")
    early = EARLY if EARLY in steps else next(iter(picked(steps, 3)[1:2]), None)
    times = {"start": steps[:1], "early": [early], "end": steps[-1:]}
    places = {"first": widths[:1], "next_to_last": widths[-2:-1], "last": widths[-1:]}

    def rows(variant: str, quantity: str, place: str, time: str) -> pd.DataFrame:
        table = trained(tables, quantity, cell=sweep, variant=variant)
        return table[table["d_k"].isin(places[place]) & table["step"].isin(times[time])]

    def show(quantity: str) -> Callable[..., str]:
        return as_percent if quantity in SHARES else as_number

    def ratio(variant: str, other: str, place: str, time: str) -> str:
        return say(
            lambda: _quotient(
                first_row(rows(variant, "loss", place, time)),
                first_row(rows(other, "loss", place, time)),
            )
        )

    found: Variables = {
        variant: {
            quantity: {
                place: {
                    time: cell_values(rows(variant, quantity, place, time), show(quantity))[
                        "measured"
                    ]
                    for time in times
                }
                for place in places
            }
            for quantity in QUANTITIES
        }
        | {
            quantity: {
                time: _slope(tables, quantity, sweep, variant, at) for time, at in times.items()
            }
            for quantity in SLOPES
        }
        for variant in NAMES
    }
    return {
        **found,
        "first_width": say(lambda: str(widths[0])),
        "next_to_last_width": say(lambda: str(widths[-2])),
        "last_width": say(lambda: str(widths[-1])),
        "early_step": say(lambda: str(_known(early))),
        "last_step": say(lambda: str(steps[-1])),
        "seeds": say(lambda: plain(some(losses["samples"]).max())),
        "keys": say(lambda: str(whole(losses, "n_keys")[0])),
        "none_over_root": {time: ratio("none", "root", "last", time) for time in ("early", "end")},
        "additive_over_none": {place: ratio("additive", "none", place, "end") for place in places},
        "largest_bound_use": say(
            lambda: short(
                some(trained(tables, "bound_use", cell=sweep, variant="qk_norm")["value"]).max()
            )
        ),
        "departure": {
            "first": _departure(tables, sweep, widths[:1], steps[-1:]),
            "last": _departure(tables, sweep, widths[-1:], steps[-1:]),
            "sgd": _largest_departure(tables, "sgd"),
            "matched": _largest_departure(tables, "adam-matched"),
        },
        "mup": _inputs_as_wide(tables, "mup"),
        "fixed_rate": _inputs_as_wide(tables, "fixed-rate"),
        "rates": _rates(tables),
        "recall": _recall(tables),
    }


def _known(value: int | None) -> int:
    if value is None:
        raise LookupError("no value")
    return value


def _quotient(first: pd.Series, second: pd.Series) -> str:
    value = first["value"] / second["value"]
    stderr = math.hypot(first["stderr"], value * second["stderr"]) / second["value"]
    return with_error(value, stderr)


def _slope(tables: Tables, quantity: str, sweep: str | None, variant: str, steps: list[int]) -> str:
    table = trained(tables, quantity, cell=sweep, variant=variant)
    return cell_values(table[table["step"].isin(steps)])["measured"]


def _departure(tables: Tables, sweep: str | None, widths: list[int], steps: list[int]) -> str:
    table = trained(tables, "departure_from_root", cell=sweep)
    table = table[table["d_k"].isin(widths) & table["step"].isin(steps)]
    return say(lambda: short(some(table["value"]).max()))


def _largest_departure(tables: Tables, sweep: str) -> str:
    table = trained(tables, "departure_from_root", cell=sweep)
    return say(lambda: short(some(table["value"]).max(), 2))


def _inputs_as_wide(tables: Tables, sweep: str) -> Variables:
    """The slope of the right logit after the last step, where inputs are as wide as the head."""
    table = trained(tables, "right_logit_slope", cell=sweep)
    widths = whole(trained(tables, "right_logit", cell=sweep), "d_k")
    steps = whole(table, "step")[-1:]
    return {
        "first_width": say(lambda: str(widths[0])),
        "last_width": say(lambda: str(widths[-1])),
        **{
            variant: _slope(tables, "right_logit_slope", sweep, variant, steps)
            for variant in ("root", "width")
        },
    }


def _rates(tables: Tables) -> Variables:
    """Best rates at the first and the last width, and their slope over the widths."""
    table, slopes = tables.rows("training", "best_rate"), tables.rows("training", "best_rate_slope")
    widths, rates = whole(table, "d_k"), sorted(by_rate(tables)["rate"].unique())

    def best(variant: str, at: list[int]) -> str:
        rows = table[(table["variant"] == variant) & table["d_k"].isin(at)]
        return cell_values(rows)["measured"]

    return {
        "count": str(len(rates)),
        "lowest": say(lambda: plain(rates[0])),
        "highest": say(lambda: plain(rates[-1])),
        "step": say(lambda: str(whole(table, "step")[-1])),
        "first_width": say(lambda: str(widths[0])),
        "last_width": say(lambda: str(widths[-1])),
        **{
            variant: {
                "first": best(variant, widths[:1]),
                "last": best(variant, widths[-1:]),
                "slope": cell_values(slopes[slopes["variant"] == variant])["measured"],
            }
            for variant in ("none", "root", "width")
        },
    }


def _recall(tables: Tables) -> Variables:
    """Accuracy in the second task after the last step, at the first and the last width, in percent."""
    table = trained(tables, "accuracy")
    table = table[table["cell"] == recall_sweep(tables)]
    widths, steps = whole(table, "d_k"), whole(table, "step")
    last = table[table["step"].isin(steps[-1:])]
    return {
        "first_width": say(lambda: str(widths[0])),
        "last_width": say(lambda: str(widths[-1])),
        "last_step": say(lambda: str(steps[-1])),
        **{
            variant: {
                place: cell_values(
                    last[(last["variant"] == variant) & last["d_k"].isin(at)], as_percent
                )["measured"]
                for place, at in (("first", widths[:1]), ("last", widths[-1:]))
            }
            for variant in ("none", "root", "width")
        },
    }
