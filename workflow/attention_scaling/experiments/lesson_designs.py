"""Many runs of a lesson's own design: what a number could have been that was printed from a single run.

Section 4.3 draws queries and 32 random keys for each width, and prints the mean largest weight and the mean
trace of the softmax Jacobian, 1 - sum a^2. Neither its seed nor its number of queries is known. Here the same
is done many times over, for numbers of queries that span what one would reasonably draw; a run's queries share
its keys, so its rows are not independent and more queries do not make its mean exact. The quantiles of the
runs' means say where a printed number lies among them.

Cell B7. The variant "rows=N mean" is the mean over runs, with its standard error; "rows=N qP" the quantile of
level P; "rows=N sd" the standard deviation over runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, PositiveInt

from attention_scaling.backends import Array, Backend
from attention_scaling.divisors import divisor_value
from attention_scaling.experiments.fields import SampleSize, Widths, unique
from attention_scaling.measurement import Measurement
from attention_scaling.sampling.rows import statistics
from attention_scaling.sampling.scores import shared_keys
from attention_scaling.sampling.streams import block_seed
from attention_scaling.theory.softmax_means import softmax_mean
from attention_scaling.validation import StrictModel

NAME = "lesson_designs"

QUANTITIES = {
    "top_weight": "mean largest weight of a run's rows",
    "capacity": "mean trace of the softmax Jacobian, 1 - sum a^2, over a run's rows",
    "capacity_fall": "a run's capacity at the smallest width over that at the largest",
}

B7_KEYS = 32
DIVISORS = ("none", "root")
ROW_STATISTICS = ("top_weight", "capacity")
LEVELS = (0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.995)
_RUNS_AT_ONCE = 10


class Settings(StrictModel):
    """Settings of the simulated lesson designs."""

    seed: Annotated[int, Field(ge=0, description="Seed of the simulated runs.")] = 1
    widths: Widths = [4, 16, 64, 256, 1024]
    runs: Annotated[SampleSize, Field(description="Runs to simulate.")] = 200
    row_counts: Annotated[
        list[PositiveInt],
        Field(
            min_length=1,
            description="Numbers of queries of a run; a run's first queries serve as a shorter run.",
        ),
        AfterValidator(unique),
    ] = [200, 1000, 4000]


def measure(settings: Settings, backend: Backend) -> Iterator[Measurement]:
    """Mean, spread and quantiles over runs, for each width, divisor and number of rows."""
    runs = {d_k: _runs(settings, backend, d_k) for d_k in settings.widths}
    for d_k, by_divisor in runs.items():
        for (divisor, quantity), means in by_divisor.items():
            exact = softmax_mean(quantity, n_keys=B7_KEYS, d_k=d_k, divisor=divisor).value
            for rows, values in zip(settings.row_counts, means, strict=True):
                yield from _summary(backend, quantity, rows, values, exact, d_k, divisor)
    first, last = min(settings.widths), max(settings.widths)
    for divisor in DIVISORS:
        exact = (
            softmax_mean("capacity", n_keys=B7_KEYS, d_k=first, divisor=divisor).value
            / softmax_mean("capacity", n_keys=B7_KEYS, d_k=last, divisor=divisor).value
        )
        falls = runs[first][divisor, "capacity"] / runs[last][divisor, "capacity"]
        for rows, values in zip(settings.row_counts, falls, strict=True):
            yield from _summary(backend, "capacity_fall", rows, values, exact, None, divisor)


def _runs(settings: Settings, backend: Backend, d_k: int) -> dict[tuple[str, str], np.ndarray]:
    """Means over rows of every run, by divisor and quantity; each of shape (row_counts, runs)."""
    longest = max(settings.row_counts)
    parts: dict[tuple[str, str], list[np.ndarray]] = {}
    for batch, start in enumerate(range(0, settings.runs, _RUNS_AT_ONCE)):
        draws = backend.draws(block_seed(settings.seed, NAME, f"B7,d_k={d_k}", batch))
        sets = min(_RUNS_AT_ONCE, settings.runs - start)
        scores = shared_keys(
            backend, draws, "collapsed", d_k=d_k, n_keys=B7_KEYS, sets=sets, queries=longest
        )
        for divisor in DIVISORS:
            scaled = scores / divisor_value(divisor, d_k)
            for name, values in statistics(backend, scaled, ROW_STATISTICS).items():
                means = _means_of_first(backend, values, settings.row_counts)
                parts.setdefault((divisor, name), []).append(means)
    return {key: np.concatenate(batches, axis=1) for key, batches in parts.items()}


def _means_of_first(backend: Backend, values: Array, row_counts: list[int]) -> np.ndarray:
    """Means over the first N of the rows of shape (sets, rows), for each N; (row_counts, sets)."""
    return np.stack(
        [backend.to_numpy(backend.xp.mean(values[:, :rows], axis=1)) for rows in row_counts]
    )


def _summary(
    backend: Backend,
    quantity: str,
    rows: int,
    values: np.ndarray,
    exact: float,
    d_k: int | None,
    divisor: str,
) -> Iterator[Measurement]:
    labels = {
        "experiment": NAME,
        "quantity": quantity,
        "method": "simulation",
        "backend": backend.name,
        "device": backend.device,
        "cell": "B7",
        "d_k": d_k,
        "n_keys": B7_KEYS,
        "divisor": divisor,
        "samples": len(values),
    }
    spread = float(np.std(values, ddof=1))
    # A quotient of means has a mean of its own, close to the quotient of the exact means but not it.
    bias_free = quantity != "capacity_fall"
    yield Measurement(
        **labels,
        variant=f"rows={rows} mean",
        value=float(np.mean(values)),
        stderr=spread / np.sqrt(len(values)) if bias_free else None,
        theory=exact,
    )
    yield Measurement(**labels, variant=f"rows={rows} sd", value=spread)
    for level, quantile in zip(LEVELS, np.quantile(values, LEVELS), strict=True):
        yield Measurement(**labels, variant=f"rows={rows} q{level}", value=float(quantile))
