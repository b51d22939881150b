"""The numbers that pages speak of, as reports/_variables.yml.

Pages name them by experiment, quantity, divisor and place: `saturation.top_weight.none.last.exact` is the exact
mean largest weight of undivided rows at the study's last width. Every name exists whatever a study measured:
widths are called first and last, and what was not measured says so in words, so that a page made from a small
study is still a page.

A place holds `measured` (the first backend's value with its standard error) and `exact` (four digits).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from attention_scaling.atomic import write_text
from attention_scaling.backends import DTYPES
from attention_scaling.divisors import DIVISORS
from attention_scaling.figures.outcomes import OUTCOMES, outcomes
from attention_scaling.figures.slices import (
    BACKEND_NAMES,
    Tables,
    exact,
    one_aligned_key,
    sampled,
    shown_keys,
    whole,
    whole_heads,
    words,
    z_scores,
)
from attention_scaling.figures.wording import (
    count,
    law_words,
    listing,
    percent,
    plain,
    short,
)
from attention_scaling.site import attention_variables, training_variables
from attention_scaling.site.values import (
    EXACT_DIGITS,
    NOT_MEASURED,
    Variables,
    as_number,
    as_percent,
    cell_values,
    first_row,
    say,
    some,
    some_items,
)


def variables(tables: Tables, provenance: Mapping[str, Any]) -> Variables:
    """All variables of the pages: nested mappings of texts."""
    return {
        "study": _study(tables, provenance),
        "verdicts": _verdicts(tables),
        "variance": _variance(tables),
        "saturation": _softmax(tables, "saturation", ("top_weight", "closed_share", "entropy")),
        "capacity": _softmax(tables, "capacity", ("capacity", "top_derivative", "top_eigenvalue")),
        "correlation": _correlation(tables),
        "gradient": _gradient(tables),
        "precision": _precision(tables),
        "kernels": attention_variables.kernels(tables),
        "memory": attention_variables.memory(tables),
        "cost": attention_variables.cost(tables),
        "continuum": training_variables.continuum(tables),
        "remedies": training_variables.remedies(tables),
        "training": training_variables.training(tables),
        "reconstruction": _reconstruction(tables),
        "calibration": _calibration(tables),
    }


def write(path: Path, found: Variables) -> None:
    """Write the variables as YAML, every value a quoted text."""
    text = yaml.dump(
        found, default_style='"', allow_unicode=True, sort_keys=True, width=10_000, Dumper=_DUMPER
    )
    write_text(path, f"# Written by `python -m attention_scaling pages`: do not edit.\n{text}")


_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def _study(tables: Tables, provenance: Mapping[str, Any]) -> Variables:
    measurements = tables.measurements
    used = measurements[measurements["value"].notna() & ~measurements["method"].isin(["skipped"])]
    backends = sorted(set(zip(used["backend"], used["device"], strict=True)))
    names = [BACKEND_NAMES.get(pair, " ".join(pair)) for pair in backends]
    commit = provenance.get("commit")
    clean = {True: "clean", False: "with uncommitted changes", None: "not under version control"}
    jobs = provenance.get("jobs", [])
    return {
        "seed": str(provenance["seed"]),
        "config": provenance["config"],
        "commit": commit or "unknown",
        "commit_short": commit[:10] if commit else "unknown",
        "state": clean[provenance.get("clean")],
        "python": provenance["python"],
        "numpy": provenance["versions"]["numpy"],
        "torch": provenance["versions"]["torch"],
        "backends": listing(names),
        "first_backend": names[0] if names else NOT_MEASURED,
        "machines": _machines(len({job["host"] for job in jobs})),
        "jobs": count(len(jobs)),
        "job_seconds": short(sum(job["seconds"] for job in jobs)),
        "peak_mebibytes": say(lambda: short(max(job["peak_bytes"] for job in jobs) / 2**20)),
        "measurements": count(len(used)),
        "experiments": count(used["experiment"].nunique()),
        "not_measured": count(len(measurements) - len(used)),
    }


def _machines(number: int) -> str:
    return f"{count(number)} machine{'s' if number != 1 else ''}"


def _verdicts(tables: Tables) -> Variables:
    found = outcomes(tables.verdicts)
    names = {outcome: outcome.replace(", ", "_") for outcome in OUTCOMES}
    tally = {names[outcome]: count(int((found == outcome).sum())) for outcome in OUTCOMES}
    held = int(found.isin(["reproduced", "consistent"]).sum())
    return {
        **tally,
        "claims": count(len(found)),
        "lessons": count(tables.verdicts["lesson"].nunique()),
        "rows": count(len(tables.verdicts)),
        "held": count(held),
        "judged": count(int((~found.isin(["cited", "skipped"])).sum())),
    }


def _ends(rows: pd.DataFrame, show: Callable[..., str] = as_number) -> Variables:
    """A quantity at the first and at the last width, and between which values it lies over all of them."""
    widths = whole(rows, "d_k")
    places = {"first": widths[:1], "last": widths[-1:]}
    found: Variables = {
        place: cell_values(rows[rows["d_k"].isin(at)], show) for place, at in places.items()
    }
    known = exact(rows)
    values = (known if len(known) else sampled(rows))["value"]
    found["low"] = say(lambda: short(some(values).min()))
    found["high"] = say(lambda: short(some(values).max()))
    found["rise"] = say(lambda: short(_at(rows, widths[-1]) / _at(rows, widths[0])))
    found["fall"] = say(lambda: short(_at(rows, widths[0]) / _at(rows, widths[-1])))
    return found


def _at(rows: pd.DataFrame, d_k: int) -> float:
    rows = rows[rows["d_k"] == d_k]
    known = exact(rows)
    return float(first_row(known if len(known) else sampled(rows))["value"])


def _by_divisor(rows: pd.DataFrame, show: Callable[..., str] = as_number) -> Variables:
    return {divisor: _ends(rows[rows["divisor"] == divisor], show) for divisor in DIVISORS}


def _frame(rows: pd.DataFrame) -> Variables:
    """Between which widths, and from how many samples."""
    widths = whole(rows, "d_k")
    samples = whole(sampled(rows), "samples")
    return {
        "first_width": say(lambda: str(widths[0])),
        "last_width": say(lambda: str(widths[-1])),
        "widths": str(len(widths)),
        "samples": say(lambda: count(samples[-1])),
    }


def _keys(rows: pd.DataFrame) -> Variables:
    keys = whole(rows, "n_keys")
    shown = shown_keys(rows)
    return {
        "keys": say(lambda: str(_not_none(shown))),
        "even": say(lambda: plain(1 / _not_none(shown))),
        "most_capacity": say(lambda: plain(1 - 1 / _not_none(shown))),
        "least_keys": say(lambda: str(keys[0])),
        "most_keys": say(lambda: str(keys[-1])),
    }


def _not_none(value: int | None) -> int:
    if value is None:
        raise LookupError("no value")
    return value


def _variance(tables: Tables) -> Variables:
    sizes = tables.rows("variance", "score_size")
    gaussian = sizes[sizes["distribution"] == "gaussian"]
    slopes = tables.rows("variance", "size_slope", distribution="gaussian")
    laws = words(sizes, "distribution")
    drawn = sampled(sizes)
    distances = ((drawn["value"] - drawn["theory"]) / drawn["stderr"]).abs()
    counted = tables.rows("variance", "score_square_mean", method="enumeration")
    walked = whole(counted, "d_k")
    cross = tables.rows("variance", "cross_term_max", method="enumeration")
    return {
        **_frame(gaussian),
        "size": _by_divisor(gaussian),
        "slope": {
            divisor: cell_values(slopes[slopes["divisor"] == divisor]) for divisor in DIVISORS
        },
        "laws": str(len(laws)),
        "law_names": say(lambda: listing([law_words(law) for law in some_items(laws)])),
        "points": count(len(drawn)),
        "largest_distance": say(lambda: short(some(distances).max())),
        "enumerated_first": say(lambda: str(walked[0])),
        "enumerated_last": say(lambda: str(walked[-1])),
        "enumerated_rows": say(lambda: count(2 ** walked[-1])),
        "enumerated_square": say(
            lambda: plain(float(first_row(counted[counted["d_k"] == walked[-1]])["value"]))
        ),
        "largest_cross_term": say(lambda: plain(some(cross["value"]).abs().max())),
    }


def _softmax(tables: Tables, experiment: str, quantities: Iterable[str]) -> Variables:
    found: Variables = {}
    every = tables.rows(experiment)
    for quantity in quantities:
        rows = tables.rows(experiment, quantity)
        show = as_percent if quantity == "closed_share" else as_number
        found[quantity] = _by_divisor(rows[rows["n_keys"] == shown_keys(every)], show)
        keys = whole(rows, "n_keys")
        for place, at in (("least_keys", keys[:1]), ("most_keys", keys[-1:])):
            found[quantity][place] = _by_divisor(rows[rows["n_keys"].isin(at)], show)
    return {**found, **_frame(every), **_keys(every)}


def _correlation(tables: Tables) -> Variables:
    every = one_aligned_key(tables)
    n_keys = shown_keys(every)
    correlations = sorted(every["rho"].dropna().unique())
    inner = [rho for rho in correlations if 0 < rho < 1] or correlations

    def at(quantity: str, rho: list[float]) -> Variables:
        rows = one_aligned_key(tables, quantity)
        return _by_divisor(rows[(rows["n_keys"] == n_keys) & rows["rho"].isin(rho)])

    quantities = ("score_mean", "score_variance", "aligned_weight", "capacity")
    return {
        **_frame(every),
        **_keys(every),
        "rho": say(lambda: f"{inner[-1]:g}"),
        "low_rho": say(lambda: f"{inner[0]:g}"),
        "correlations": say(lambda: listing([f"{rho:g}" for rho in some_items(correlations)])),
        "at_rho": {quantity: at(quantity, inner[-1:]) for quantity in quantities},
        "at_low_rho": {quantity: at(quantity, inner[:1]) for quantity in quantities},
        "closing": _closing(tables),
    }


def _closing(tables: Tables) -> Variables:
    """The closing correlation over the root, at the first and last width that has one."""
    table = tables.rows("correlation", "closing_rho", divisor="root")
    keys = shown_keys(table)
    rows = table[table["n_keys"] == keys]
    widths = whole(rows, "d_k")
    slopes = tables.rows("correlation", "closing_rho_slope", divisor="root", n_keys=keys)
    return {
        "keys": say(lambda: str(_not_none(keys))),
        "first_width": say(lambda: str(widths[0])),
        "last_width": say(lambda: str(widths[-1])),
        "first": say(lambda: short(_at(rows, widths[0]))),
        "last": say(lambda: short(_at(rows, widths[-1]))),
        "slope": say(lambda: short(float(first_row(slopes)["value"]))),
    }


def _gradient(tables: Tables) -> Variables:
    every = whole_heads(tables)
    n_keys = shown_keys(every)
    found: Variables = {**_frame(every), **_keys(every)}
    places = [f"gradient_ratio_{place}" for place in ("scores", "query", "key")]
    losses = ["attention_gradient", "cross_entropy_gradient", "right_class_gradient"]
    for quantity in (*places, "frozen_share", *losses):
        rows = tables.rows("gradient", quantity)
        show = as_percent if quantity == "frozen_share" else as_number
        found[quantity] = _by_divisor(rows[rows["n_keys"] == n_keys], show)
    sizes = tables.rows("gradient", "tiny_derivative_size")
    lengths = whole(sizes, "n_keys")
    slope = tables.rows("gradient", "tiny_derivative_slope")
    found["tiny"] = {
        "least_keys": say(lambda: str(lengths[0])),
        "most_keys": say(lambda: str(lengths[-1])),
        "samples": say(lambda: count(whole(sizes, "samples")[-1])),
        "first": cell_values(sizes[sizes["n_keys"].isin(lengths[:1])]),
        "last": cell_values(sizes[sizes["n_keys"].isin(lengths[-1:])]),
        "slope": cell_values(slope),
        "even_slope": say(lambda: plain(float(first_row(slope)["theory"]), EXACT_DIGITS)),
    }
    return found


def _precision(tables: Tables) -> Variables:
    found: Variables = {}
    for dtype in DTYPES:
        at = tables.rows("precision", variant=dtype)
        cutoff = at[at["quantity"] == "overflow_cutoff"]
        tried = at[at["quantity"] == "naive_cutoff"]
        largest = at[at["quantity"] == "largest_number"]
        errors = at[at["quantity"] == "stable_error"]["value"]
        lost = at[at["quantity"] == "underflow_loss"]["value"]
        found[dtype] = {
            "cutoff": say(lambda rows=cutoff: plain(float(first_row(rows)["value"]), 5)),
            "largest": say(lambda rows=largest: plain(float(first_row(rows)["value"]))),
            "tried": say(
                lambda rows=tried: plain(float(rows.sort_values("backend")["value"].iloc[-1]), 5)
            ),
            "stable_error": say(lambda values=errors: short(some(values).max(), 2)),
            "underflow_loss": say(lambda values=lost: short(some(values).max(), 2)),
        }
    return found


def _reconstruction(tables: Tables) -> Variables:
    kept = tables.rows("reconstruction", "kept_rows")
    return {
        "kept": say(lambda: count(int(first_row(kept)["value"]))),
        "tried": say(lambda: count(int(first_row(kept)["samples"]))),
    }


def _calibration(tables: Tables) -> Variables:
    distances = z_scores(tables)
    spread_error = 1 / math.sqrt(2 * len(distances)) if len(distances) else math.nan
    beyond = distances.abs() > 2
    return {
        "values": count(len(distances)),
        "mean": say(lambda: short(some(distances).mean(), 2)),
        "spread": say(lambda: short(some(distances).std())),
        "spread_by_chance": say(lambda: f"1 ± {short(_number(spread_error), 2)}"),
        "beyond_two": say(lambda: percent(some(beyond).mean())),
        "beyond_two_by_chance": percent(math.erfc(2 / math.sqrt(2))),
        "largest": say(lambda: short(some(distances).abs().max())),
    }


def _number(value: float) -> float:
    if math.isnan(value):
        raise ValueError("not a number")
    return value
