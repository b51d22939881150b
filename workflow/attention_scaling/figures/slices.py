"""Slices of the two tables that figures and pages show: which rows, which widths, which numbers of keys.

A study may measure anything its configuration asks for. So whatever is shown is chosen from what is there:
the first and the last width, a number of keys that the lessons speak of where it was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from attention_scaling.divisors import DIVISORS
from attention_scaling.tables import EXACT_METHODS

BACKEND_NAMES = {
    ("numpy", "cpu"): "NumPy",
    ("torch", "cpu"): "PyTorch",
    ("torch", "cuda"): "PyTorch (CUDA)",
}

MONTE_CARLO = ("direct", "collapsed", "simulation")
"""Methods whose values are means of independent random samples."""

LESSON_KEYS = 32
"""Number of keys in the lessons' table of saturation: shown where a single number of keys is."""

WITHIN_ONE = ("closed_share", "top_weight", "aligned_weight", "capacity")
"""Quantities between 0 and 1. At either end a few rare rows decide the mean, and its error is not normal."""

RATE_MARK = ", rate="
"""What stands between a sweep's name and a learning rate in the training experiment's `cell`."""

LEAST_ROWS = 10
"""A mean of `WITHIN_ONE` is judged by its error where so many rows' worth of it lies on either side."""


KERNEL_RESULTS = {"error_O": "$O$", "error_dQ": "$dQ$", "error_dK": "$dK$", "error_dV": "$dV$"}
"""What the kernels experiment compares, as it is written."""


@dataclass(frozen=True)
class Tables:
    """The measurements and the verdicts of a study: all that figures and pages read."""

    measurements: pd.DataFrame
    verdicts: pd.DataFrame

    @cached_property
    def measured(self) -> pd.DataFrame:
        """The measurements with a value, words as Python objects and numbers as floats.

        Two blocks of memory rather than one a column: pages cut this table hundreds of times.
        """
        table = self.measurements[self.measurements["value"].notna()]
        kinds = {
            column: "float64" if pd.api.types.is_numeric_dtype(kind) else "object"
            for column, kind in table.dtypes.items()
        }
        return table.astype(kinds).copy()

    @cached_property
    def by_experiment(self) -> dict[str, pd.DataFrame]:
        """The rows of `measured` by experiment."""
        return dict(tuple(self.measured.groupby("experiment")))

    @cached_property
    def by_quantity(self) -> dict[tuple[str, str], pd.DataFrame]:
        """The rows of `measured` by experiment and quantity."""
        return dict(tuple(self.measured.groupby(["experiment", "quantity"])))

    @cached_property
    def sweeps(self) -> dict[str, pd.DataFrame]:
        """The rows of training's sweeps with one learning rate, by quantity."""
        table = self.rows("training", method="trained")
        table = table[~table["cell"].str.contains(RATE_MARK, regex=False)]
        return dict(tuple(table.groupby("quantity")))

    def rows(self, experiment: str, quantity: str | None = None, **labels: Any) -> pd.DataFrame:
        """The rows with a value of an experiment's quantity whose columns equal `labels`."""
        if quantity is None:
            table = self.by_experiment.get(experiment)
        else:
            table = self.by_quantity.get((experiment, quantity))
        return self.measured.iloc[:0] if table is None else _labelled(table, labels)


def _labelled(table: pd.DataFrame, labels: dict[str, Any]) -> pd.DataFrame:
    """The rows whose columns equal `labels`: one mask for all labels, since cutting costs more than comparing."""
    if not labels:
        return table
    return table[np.logical_and.reduce([table[name] == value for name, value in labels.items()])]


def one_aligned_key(tables: Tables, quantity: str | None = None) -> pd.DataFrame:
    """The rows of the correlation experiment in which one key is aligned, not all of them, by a given rho."""
    table = tables.rows("correlation", quantity)
    return table[table["cell"].isna() & table["rho"].notna()]


def whole_heads(tables: Tables) -> pd.DataFrame:
    """The rows of the gradient experiment that whole heads gave, not scores alone."""
    table = tables.rows("gradient")
    return table[table["cell"].isna()]


def kernel_errors(table: pd.DataFrame) -> pd.DataFrame:
    """The errors of the kernels experiment in the case without options, with the skipped ones of `table`."""
    kept = (table["experiment"] == "kernels") & (table["cell"] == "bare").fillna(False)
    return table[kept & table["quantity"].isin(KERNEL_RESULTS)]


def trained(tables: Tables, quantity: str, **labels: Any) -> pd.DataFrame:
    """The rows of the training experiment that one device gave, of sweeps with one learning rate."""
    table = tables.sweeps.get(quantity)
    return tables.measured.iloc[:0] if table is None else _one_device(_labelled(table, labels))


def by_rate(tables: Tables) -> pd.DataFrame:
    """The losses of the first sweep over learning rates, with the rate as a column `rate`."""
    table = tables.rows("training", "loss", method="trained")
    table = _one_device(table[table["cell"].str.contains(RATE_MARK, regex=False)])
    split = [cell.partition(RATE_MARK) for cell in table["cell"]]
    table = table.assign(rate=[float(rate) for _, _, rate in split])
    first = pd.Series([sweep == split[0][0] for sweep, _, _ in split], table.index, dtype=bool)
    return table[first]


def main_sweep(tables: Tables) -> str | None:
    """The sweep with the most remedies: the one that figures show."""
    remedies = trained(tables, "logit_size").groupby("cell", sort=False)["variant"].nunique()
    return str(remedies.idxmax()) if len(remedies) else None


def recall_sweep(tables: Tables) -> str | None:
    """The first sweep on rows of another length than those of `main_sweep`: the other task."""
    table = trained(tables, "accuracy")
    main = table[table["cell"] == main_sweep(tables)]
    others = table[~table["n_keys"].isin(main["n_keys"])]
    return str(others["cell"].iloc[0]) if len(others) else None


def _one_device(table: pd.DataFrame) -> pd.DataFrame:
    devices = set(table["device"])
    return table if len(devices) < 2 else table[table["device"] == min(devices)]


def exact(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that hold exact values."""
    return table[_among(table["method"].tolist(), EXACT_METHODS)]


def sampled(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that hold Monte Carlo values in float64, one method a cell: collapsed where there are two."""
    methods = [
        method if method in MONTE_CARLO and dtype == "float64" else None
        for method, dtype in zip(table["method"].tolist(), table["dtype"].tolist(), strict=True)
    ]
    wanted = ("collapsed",) if "collapsed" in methods else MONTE_CARLO
    return table[_among(methods, wanted)]


def _among(items: list, wanted: tuple[str, ...]) -> np.ndarray:
    """Which of the items are wanted. Of a few rows this tells in a tenth of the time that `isin` takes."""
    return np.array([item in wanted for item in items], dtype=bool)


def curve(table: pd.DataFrame) -> pd.DataFrame:
    """A quantity over the widths, columns d_k and value: exact where that is known, else as measured.

    Measured values are averaged over the backends.
    """
    known = exact(table)
    rows = known if len(known) else sampled(table)
    return rows.groupby("d_k", as_index=False)["value"].mean()


def whole(table: pd.DataFrame, column: str) -> list[int]:
    """The values of a column of whole numbers, each once, in order."""
    return sorted(int(value) for value in table[column].dropna().unique())


def words(table: pd.DataFrame, column: str) -> list[str]:
    """The values of a column of words, each once, in the order of the table."""
    return [str(value) for value in table[column].dropna().unique()]


def divisors(table: pd.DataFrame) -> list[str]:
    """The divisors in a table, in the order none, root, width."""
    found = set(table["divisor"].dropna())
    return [divisor for divisor in DIVISORS if divisor in found]


def shown_keys(table: pd.DataFrame) -> int | None:
    """The number of keys to show where there is room for one: the lessons', or the middle one."""
    counts = whole(table, "n_keys")
    if not counts:
        return None
    return LESSON_KEYS if LESSON_KEYS in counts else counts[len(counts) // 2]


def samples(table: pd.DataFrame) -> int:
    """The most samples that a Monte Carlo value of the table stands on; 0 where there is none."""
    return int(sampled(table)["samples"].max()) if len(sampled(table)) else 0


def picked(values: list, limit: int) -> list:
    """At most `limit` of the values, evenly picked, first and last among them."""
    if len(values) <= limit:
        return values
    last = len(values) - 1
    return [values[round(index * last / (limit - 1))] for index in range(limit)]


def panel_keys(table: pd.DataFrame, limit: int) -> list[int]:
    """At most `limit` numbers of keys for panels: the smallest, the largest, and the one of `shown_keys`."""
    counts = whole(table, "n_keys")
    keys = picked(counts, limit)
    shown = shown_keys(table)
    if shown is None or shown in keys:
        return keys
    nearest = min(keys[1:-1] or keys, key=lambda key: abs(counts.index(key) - counts.index(shown)))
    return sorted(shown if key == nearest else key for key in keys)


def distances(table: pd.DataFrame) -> pd.Series:
    """Distance of each value from its exact value in standard errors; missing where that says nothing.

    That is where there is no exact value or no error, and where rare rows decide the mean.
    """
    samples, theory = table["samples"].astype(float), table["theory"].astype(float)
    stderr = table["stderr"].astype(float)
    above = samples * theory.clip(0, 1)
    rare = table["quantity"].isin(WITHIN_ONE) & ~(
        (above >= LEAST_ROWS) & (samples - above >= LEAST_ROWS)
    )
    known = (stderr > 0) & ~rare
    return ((table["value"].astype(float) - theory) / stderr).where(known)


def z_scores(tables: Tables) -> pd.Series:
    """`distances` of every Monte Carlo value, each draw counted once.

    Left out is what would count the same draws twice: a score under a second divisor (the same number,
    rescaled), and what is derived from other rows.
    """
    table = tables.measured
    rescaled = table["quantity"].str.startswith("score_") & (
        table["divisor"].fillna("none") != "none"
    )
    derived = table["quantity"].isin(("score_size", "score_std"))
    table = table[table["method"].isin(MONTE_CARLO) & ~rescaled & ~derived]
    return distances(table).dropna()
