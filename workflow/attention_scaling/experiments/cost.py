"""What a pass of attention costs in arithmetic and in time, and what the softmax Jacobian would cost.

By its matrix products the backward pass costs twice the forward pass: four products of T^2 d_k to two, five where
the weights are computed again. The clock sees the rest too: an exponential, a maximum and sums for each weight on
the way forward, less on the way back, and the calls themselves. So beside the times of the passes stand those of
their products alone, which say where a ratio leaves 2 and why.

On a CPU a time is processor time, which other processes do not lengthen, on CUDA the wall clock around whole
calls; values are medians over interleaved rounds, standard errors from the rounds' spread.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from attention_scaling.attention import score_gradient, softmax, softmax_jacobian
from attention_scaling.backends import Array, Backend
from attention_scaling.bench.timing import Timings, interleaved
from attention_scaling.experiments.fields import KeyCounts, Widths
from attention_scaling.experiments.versions import Version, versions
from attention_scaling.fitting import power_law
from attention_scaling.measurement import Measurement
from attention_scaling.validation import StrictModel

NAME = "cost"

PASSES = ("forward", "backward")

QUANTITIES = {
    "flops": "floating-point operations of the matrix products of the pass `cell`",
    "flop_ratio": "those of the backward pass over those of the forward pass",
    "seconds": "time of the pass `cell`, the backward pass with what the forward pass kept",
    "time_ratio": "time of the backward pass over that of the forward pass",
    "product_ratio": "the same for the matrix products of the passes alone",
    "outside_share": "share of the time of the pass `cell` that its matrix products alone do not take",
    "row_seconds": "time to take a gradient through the softmax of a row of n_keys weights, `variant` the way",
    "row_exponent": "exponent of that time over the length of the row",
    "call_share": "share of that time that a call on a single number takes",
}

DTYPE = "float32"
SEED = 1
FEWEST_POINTS = 3
MAD_TO_STD = 1.4826
"""Median absolute deviation of a normal distribution to its standard deviation."""
MEDIAN_EFFICIENCY = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, for a normal distribution."""


class Settings(StrictModel):
    """Settings of the cost experiment."""

    lengths: KeyCounts = [64, 256, 1024]
    widths: Widths = [16, 64, 256]
    rounds: Annotated[PositiveInt, Field(description="Rounds that a time is the median of.")] = 5
    row_lengths: KeyCounts = [32, 64, 128, 256, 512]
    row_numbers: Annotated[
        PositiveInt,
        Field(description="Numbers of the largest array in which rows are worked on together."),
    ] = 2**18
    row_rounds: PositiveInt = 15


def measure(settings: Settings, backend: Backend) -> Iterator[Measurement]:
    """Counts and times of both passes in every cell, and of the two ways through a softmax."""
    row = Measurement(
        experiment=NAME,
        quantity="",
        method="timing",
        backend=backend.name,
        device=backend.device,
        dtype=DTYPE,
    )
    for n_keys in settings.lengths:
        for d_k in settings.widths:
            labels = replace(row, n_keys=n_keys, d_k=d_k)
            yield from _passes(labels, backend, settings.rounds)
    yield from _rows(settings, replace(row, dtype="float64"), backend)


def product_flops(products: int, n_keys: int, d_k: int) -> int:
    """Operations of `products` matrix products of n_keys^2 d_k multiplications and as many additions."""
    return 2 * products * n_keys**2 * d_k


def _passes(row: Measurement, backend: Backend, rounds: int) -> Iterator[Measurement]:
    draws = backend.draws(np.random.SeedSequence(SEED))
    arrays = tuple(draws.normal((row.n_keys, row.d_k), DTYPE) for _ in range(4))
    ways = {("products", pass_): way for pass_, way in _products(*arrays).items()}
    for variant, version in versions().items():
        ways |= {(variant, pass_): way for pass_, way in _ways(version, *arrays).items()}
        yield from _counts(replace(row, variant=variant, method="counted"), version)
    timings = _timed(backend, ways, rounds)
    row = replace(row, samples=rounds)
    for variant in versions():
        for pass_ in PASSES:
            labels = replace(row, variant=variant, cell=pass_)
            seconds = timings.seconds[variant, pass_]
            yield _median(replace(labels, quantity="seconds", unit="s"), seconds)
        ratios = timings.ratios((variant, "backward"), (variant, "forward"))
        yield _median(replace(row, variant=variant, quantity="time_ratio"), ratios)
    ratios = timings.ratios(("products", "backward"), ("products", "forward"))
    yield _median(replace(row, variant="plain", quantity="product_ratio"), ratios)
    for pass_ in PASSES:
        shares = [1 - share for share in timings.ratios(("products", pass_), ("plain", pass_))]
        labels = replace(row, variant="plain", cell=pass_, quantity="outside_share")
        yield _median(labels, shares)


def _counts(row: Measurement, version: Version) -> Iterator[Measurement]:
    flops = {pass_: product_flops(version.products[pass_], row.n_keys, row.d_k) for pass_ in PASSES}
    for pass_, count in flops.items():
        yield replace(
            row, quantity="flops", cell=pass_, value=float(count), stderr=0.0, unit="flop"
        )
    ratio = flops["backward"] / flops["forward"]
    yield replace(row, quantity="flop_ratio", value=ratio, stderr=0.0)


def _ways(
    version: Version, Q: Array, K: Array, V: Array, dO: Array
) -> dict[str, Callable[[], object]]:
    _, kept = version.forward(Q, K, V)
    return {
        "forward": lambda: version.forward(Q, K, V),
        "backward": lambda: version.backward(Q, K, V, dO, kept),
    }


def _products(Q: Array, K: Array, V: Array, dO: Array) -> dict[str, Callable[[], object]]:
    """The matrix products of the plain passes and nothing else."""
    square = Q @ K.mT
    return {
        "forward": lambda: (Q @ K.mT, square @ V),
        "backward": lambda: (square.mT @ dO, dO @ V.mT, square @ K, square.mT @ Q),
    }


def _rows(settings: Settings, row: Measurement, backend: Backend) -> Iterator[Measurement]:
    """Rows are worked on together, as many as make an array of one size at every length.

    So caches and memory see the same at every length, and so does the cost of a call, which would bend the
    exponents to 1 and 2 if it were much: its share is measured too.
    """
    draws = backend.draws(np.random.SeedSequence(SEED))
    lengths = sorted(settings.row_lengths)
    # The single number stands for what a call costs whatever it is given.
    counts = {("product", 1): 1, ("matrix", 1): 1}
    for n_keys in lengths:
        counts["product", n_keys] = max(1, settings.row_numbers // n_keys)
        counts["matrix", n_keys] = max(1, settings.row_numbers // n_keys**2)
    ways = {}
    for n_keys in (1, *lengths):
        rows = counts["product", n_keys]
        weights, upstream = (draws.normal((rows, n_keys), row.dtype) for _ in range(2))
        ways |= _through(softmax(weights), upstream, counts["matrix", n_keys])
    timings = _timed(backend, ways, settings.row_rounds)
    for variant in ("product", "matrix"):
        labels = replace(row, variant=variant, samples=settings.row_rounds)
        points = []
        for n_keys in lengths:
            way = variant, n_keys
            each = [seconds / counts[way] for seconds in timings.seconds[way]]
            points.append(
                _median(replace(labels, quantity="row_seconds", n_keys=n_keys, unit="s"), each)
            )
            shares = timings.ratios((variant, 1), way)
            yield _median(replace(labels, quantity="call_share", n_keys=n_keys), shares)
        yield from points
        if len(points) >= FEWEST_POINTS:
            law = power_law(lengths, [point.value for point in points])
            labels = replace(row, quantity="row_exponent", variant=variant)
            yield replace(labels, value=law.exponent, stderr=law.stderr)


def _through(
    weights: Array, upstream: Array, matrices: int
) -> dict[tuple[str, int], Callable[[], object]]:
    """The product for all rows at once; the matrix, and its product with the gradient, for the first few."""
    n_keys = weights.shape[-1]
    some, few = weights[:matrices, :], upstream[:matrices, :, None]
    return {
        ("product", n_keys): lambda: score_gradient(weights, upstream),
        ("matrix", n_keys): lambda: softmax_jacobian(some) @ few,
    }


def _timed(backend: Backend, ways: dict, rounds: int) -> Timings:
    if backend.device == "cpu":
        return interleaved(ways, rounds, clock=time.process_time)
    import torch

    def whole(way: Callable[[], object]) -> Callable[[], None]:
        def finished() -> None:
            way()
            torch.cuda.synchronize(backend.device)

        return finished

    return interleaved({name: whole(way) for name, way in ways.items()}, rounds)


def _median(row: Measurement, values: Sequence[float]) -> Measurement:
    """The row with the median of `values`, its error from their median absolute deviation."""
    middle = statistics.median(values)
    spread = MAD_TO_STD * statistics.median(abs(value - middle) for value in values)
    stderr = MEDIAN_EFFICIENCY * spread / math.sqrt(len(values)) if len(values) > 1 else None
    return replace(row, value=middle, stderr=stderr)
