"""The lessons' own seeded code, run again: every number that their cells print.

NumPy's `default_rng` gives the same numbers from the same seed as long as NumPy does not change its generators,
which it has not done since they came with 1.17 but may do in a new version (NEP 19); the lock file pins it. So
each cell's draws are made here by NumPy, in the lesson's own order and shapes, whatever the backend; the backend
then does the arithmetic, and must arrive at the printed decimals.

Cells: A13 (typical size of the scores, five widths), A14 (what the softmax makes of them, three widths),
C1 and C2 (standard deviations), C3 (a small worked example). Rows drawn independently carry the standard
error of their mean, as estimates of the exact value; A14's rows share their keys, so theirs is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from attention_scaling.attention import scaled_dot_product_attention, softmax
from attention_scaling.backends import Array, Backend
from attention_scaling.divisors import divisor_value
from attention_scaling.measurement import Measurement
from attention_scaling.theory.softmax_means import softmax_mean
from attention_scaling.validation import StrictModel

NAME = "lesson_cells"

QUANTITIES = {
    "score_mean": "mean of the scores of a replayed cell",
    "score_size": "typical size of the scores, the root of their mean square",
    "root_width": "the root of the width",
    "size_over_root": "typical size of the scores over the root of the width",
    "top_weight": "mean of a row's largest weight",
    "capacity": "mean trace of the softmax Jacobian, 1 - sum a^2",
    "top_derivative": "mean of a row's largest a (1 - a)",
    "score_std": "standard deviation of the scores",
    "output": "an entry of the worked example's output, rows and columns counted from 0",
}

A13_SEED, A13_PAIRS, A13_WIDTHS = 7, 8000, (4, 16, 64, 256, 1024)
A14_SEED, A14_ROWS, A14_KEYS, A14_WIDTHS = 11, 4000, 8, (8, 64, 512)
C_SEED, C_PAIRS = 0, 10_000
C_WIDTHS = {"C1": (4, 64, 1024), "C2": (4, 1024)}
C3_QUERIES = [[1.0, 1.0], [0.0, 2.0]]
C3_KEYS = [[1.0, 0.0], [0.0, 1.0]]
C3_VALUES = [[10.0, 0.0], [0.0, 10.0]]


class Settings(StrictModel):
    """Nothing to set: seeds, sizes and order are the lessons'."""


def exact(settings: Settings) -> Iterator[Measurement]:
    """The means that A14's cells estimate, over all queries and keys, by quadrature."""
    for d_k in A14_WIDTHS:
        for divisor in ("none", "root"):
            for quantity in ("top_weight", "capacity", "top_derivative"):
                mean = softmax_mean(quantity, n_keys=A14_KEYS, d_k=d_k, divisor=divisor)
                yield Measurement(
                    experiment=NAME,
                    quantity=quantity,
                    method="quadrature",
                    cell="A14",
                    d_k=d_k,
                    n_keys=A14_KEYS,
                    divisor=divisor,
                    value=mean.value,
                    stderr=0.0,
                )


def measure(settings: Settings, backend: Backend) -> Iterator[Measurement]:
    """Every printed number of every cell."""
    yield from _typical_sizes(backend)
    yield from _softmax_rows(backend)
    for cell, widths in C_WIDTHS.items():
        yield from _standard_deviations(backend, cell, widths)
    yield from _worked_example(backend)


def _typical_sizes(backend: Backend) -> Iterator[Measurement]:
    """Cell A13: for each width first all queries, then all keys; one score a pair."""
    xp = backend.xp
    rng = np.random.default_rng(A13_SEED)
    for d_k in A13_WIDTHS:
        queries, keys = (backend.asarray(rng.normal(size=(A13_PAIRS, d_k))) for _ in range(2))
        scores = xp.sum(queries * keys, axis=1)
        square, square_error = _mean(xp, scores * scores)
        size, size_error = _root(square, square_error)
        root = math.sqrt(d_k)
        for quantity, (value, stderr), theory in (
            ("score_mean", _mean(xp, scores), 0.0),
            ("score_size", (size, size_error), root),
            ("root_width", (root, 0.0), root),
            ("size_over_root", (size / root, size_error / root), 1.0),
        ):
            yield _row(
                backend,
                quantity,
                "A13",
                d_k=d_k,
                samples=A13_PAIRS,
                value=value,
                stderr=stderr,
                theory=theory,
            )


def _softmax_rows(backend: Backend) -> Iterator[Measurement]:
    """Cell A14: for each width 4000 queries against the same 8 keys, undivided and over the root."""
    xp = backend.xp
    rng = np.random.default_rng(A14_SEED)
    for d_k in A14_WIDTHS:
        queries = backend.asarray(rng.normal(size=(A14_ROWS, d_k)))
        keys = backend.asarray(rng.normal(size=(A14_KEYS, d_k)))
        scores = xp.matmul(queries, keys.T)
        for divisor in ("none", "root"):
            weights = softmax(scores / divisor_value(divisor, d_k))
            for quantity, by_row in (
                ("top_weight", xp.max(weights, axis=1)),
                ("capacity", 1 - xp.sum(weights * weights, axis=1)),
                ("top_derivative", xp.max(weights * (1 - weights), axis=1)),
            ):
                yield _row(
                    backend,
                    quantity,
                    "A14",
                    d_k=d_k,
                    n_keys=A14_KEYS,
                    divisor=divisor,
                    samples=A14_ROWS,
                    value=float(xp.mean(by_row)),
                )


def _standard_deviations(
    backend: Backend, cell: str, widths: tuple[int, ...]
) -> Iterator[Measurement]:
    """Cells C1 and C2: queries and keys of a width in one draw; standard deviations with divisor n."""
    xp = backend.xp
    rng = np.random.default_rng(C_SEED)
    for d_k in widths:
        queries, keys = (backend.asarray(half) for half in rng.normal(size=(2, C_PAIRS, d_k)))
        raw = xp.sum(queries * keys, axis=1)
        for divisor in ("none", "root"):
            scores = raw / divisor_value(divisor, d_k)
            deviations = scores - xp.mean(scores)
            value, stderr = _root(*_mean(xp, deviations * deviations))
            yield _row(
                backend,
                "score_std",
                cell,
                d_k=d_k,
                divisor=divisor,
                samples=C_PAIRS,
                value=value,
                stderr=stderr,
                theory=math.sqrt(d_k) / divisor_value(divisor, d_k),
            )


def _worked_example(backend: Backend) -> Iterator[Measurement]:
    """Cell C3: scaled dot-product attention of two queries over two keys.

    The scores are (1, 1) and (0, 2) over sqrt(2), so the first query's weights are equal and the second's
    are in the ratio exp(sqrt(2)).
    """
    matrices = map(backend.asarray, (C3_QUERIES, C3_KEYS, C3_VALUES))
    output = backend.to_numpy(scaled_dot_product_attention(*matrices))
    second = 10 / (1 + math.exp(-math.sqrt(2)))
    exact_output = ((5.0, 5.0), (10 - second, second))
    for row in range(2):
        for column in range(2):
            yield _row(
                backend,
                "output",
                "C3",
                variant=f"{row},{column}",
                value=float(output[row, column]),
                stderr=0.0,
                theory=exact_output[row][column],
            )


def _row(backend: Backend, quantity: str, cell: str, **fields: object) -> Measurement:
    return Measurement(
        experiment=NAME,
        quantity=quantity,
        method="replay",
        backend=backend.name,
        device=backend.device,
        cell=cell,
        **fields,
    )


def _mean(xp: object, values: Array) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(xp.mean(values)), float(xp.std(values, correction=1)) / math.sqrt(values.shape[0])


def _root(square: float, stderr: float) -> tuple[float, float]:
    """The root of a mean square, its standard error by the delta method."""
    return math.sqrt(square), stderr / (2 * math.sqrt(square))
