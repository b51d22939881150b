"""One measured quantity in one cell: the row that every experiment produces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A row of the measurement table, before pandas.

    What was measured (`experiment`, `quantity`), by what (`backend`, `device`, `dtype`, `method`), in which cell
    (the fields from `d_k` to `variant`; None where a field does not apply), and what came out.

    `stderr` is the Monte Carlo standard error in the unit of `value`; 0 for an exact value; None where none
    can be given (a timing). `theory` is the exact value of the same quantity where one is known. A quantity
    that could not be measured has `value=None` and says why in `skipped`. `note` is what a reader must know
    about a value that is there, such as a precision that was aimed at and not reached.
    """

    experiment: str
    quantity: str
    method: str
    backend: str = "numpy"
    device: str = "cpu"
    dtype: str = "float64"
    d_k: int | None = None
    n_keys: int | None = None
    rho: float | None = None
    divisor: str | None = None
    distribution: str | None = None
    step: int | None = None
    cell: str | None = None
    variant: str | None = None
    samples: int | None = None
    value: float | None = None
    stderr: float | None = None
    theory: float | None = None
    unit: str = "1"
    skipped: str | None = None
    note: str | None = None
