"""What the softmax passes to its scores: with tiny scores, and under two losses side by side.

Both ends starve the scores. When scores are tiny beside 1, all weights are about 1/T and so is the derivative of
the output by a score, a_j (v_j - o): the mirror image of a closed row, which passes nothing. And when a row
closes, what matters is the loss behind it. Cross-entropy gives the scores y_hat - y, which stays 1 - y_hat_c in
the right class c while the row is wrong; behind attention's weights stand the values alone, and the gradient at
the scores is the softmax Jacobian's product with whatever comes down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from attention_scaling.attention import score_gradient, softmax
from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.divisors import DIVISORS, divisor_value
from attention_scaling.experiments.monte_carlo import Cell, Statistic
from attention_scaling.fitting import PowerLaw, power_law
from attention_scaling.measurement import Measurement
from attention_scaling.sampling.scores import independent_keys, numbers_per_row

QUANTITIES = {
    "tiny_derivative_square_mean": "mean square of an output coordinate's derivative by a score of size 0.001",
    "tiny_derivative_size": "the root of that mean square",
    "tiny_derivative_slope": "slope of that size over the number of keys in log-log axes",
    "attention_gradient": "mean norm of the gradient at a row's scores, standard normal at its weights",
    "cross_entropy_gradient": "mean norm of the gradient of cross-entropy at the scores of a wrong row",
    "right_class_gradient": "mean size of its entry in the right class, 1 - y_hat_c",
}

TINY, LOSSES = "tiny", "losses"
"""The two kinds of cells."""

TINY_SIZE = 1e-3
FEWEST_POINTS = 3


def cells(
    key_counts: list[int], widths: list[int], tiny_key_counts: list[int], samples: int
) -> list[Cell]:
    """A cell for each long row of tiny scores, and one for each width and number of keys."""
    tiny = [
        Cell(
            method="direct",
            samples=samples,
            numbers_per_row=4 * n_keys,
            n_keys=n_keys,
            cell=TINY,
        )
        for n_keys in tiny_key_counts
    ]
    losses = [
        Cell(
            method="collapsed",
            samples=samples,
            numbers_per_row=4 * numbers_per_row("collapsed", d_k=d_k, n_keys=n_keys),
            d_k=d_k,
            n_keys=n_keys,
            cell=LOSSES,
        )
        for n_keys in key_counts
        for d_k in widths
    ]
    return tiny + losses


def sample(cell: Cell, backend: Backend, draws: Draws, rows: int) -> dict[Statistic, Array]:
    """What `rows` rows of scores of one cell get."""
    return (_tiny if cell.cell == TINY else _losses)(cell, backend, draws, rows)


def _tiny(cell: Cell, backend: Backend, draws: Draws, rows: int) -> dict[Statistic, Array]:
    """One output coordinate is o = sum a_j v_j: its derivatives are a score gradient with v at the weights."""
    weights = softmax(TINY_SIZE * draws.normal((rows, cell.n_keys)))
    derivatives = score_gradient(weights, draws.normal((rows, cell.n_keys)))
    square_mean = backend.xp.mean(derivatives * derivatives, axis=1)
    return {Statistic("tiny_derivative_square_mean"): square_mean}


def _losses(cell: Cell, backend: Backend, draws: Draws, rows: int) -> dict[Statistic, Array]:
    """The right class is any but the winner: the keys are exchangeable, so the one after it is."""
    xp = backend.xp
    keys_first = independent_keys(
        backend, draws, cell.method, d_k=cell.d_k, n_keys=cell.n_keys, rows=rows
    )
    raw = xp.matrix_transpose(keys_first)
    upstream = draws.normal((rows, cell.n_keys))
    winner = xp.argmax(raw, axis=1)
    keys = xp.arange(cell.n_keys, device=backend.device)
    right = keys[None, :] == ((winner + 1) % cell.n_keys)[:, None]
    right = xp.astype(right, raw.dtype)
    found = {}
    for divisor in DIVISORS:
        weights = softmax(raw / divisor_value(divisor, cell.d_k))
        error = weights - right
        for quantity, gradient in (
            ("attention_gradient", score_gradient(weights, upstream)),
            ("cross_entropy_gradient", error),
            ("right_class_gradient", error * right),
        ):
            found[Statistic(quantity, divisor)] = xp.linalg.vector_norm(gradient, axis=1)
    return found


def derive(measurements: list[Measurement]) -> Iterator[Measurement]:
    """The typical size of a derivative among tiny scores, and its slope over the number of keys.

    Equal weights 1/T give a mean square of (1 - 1/T) / T^2, from which scores of this size are a millionth away.
    """
    by_backend: dict[tuple[str, str], list[Measurement]] = {}
    for row in measurements:
        if row.quantity == "tiny_derivative_square_mean" and row.value is not None:
            by_backend.setdefault((row.backend, row.device), []).append(row)
    for squares in by_backend.values():
        sizes = [_size(row) for row in sorted(squares, key=lambda row: row.n_keys)]
        yield from sizes
        if len(sizes) >= FEWEST_POINTS and all(row.stderr for row in sizes):
            slope = _slope(sizes, [row.value for row in sizes])
            yield replace(
                sizes[0],
                quantity="tiny_derivative_slope",
                method="derived",
                n_keys=None,
                value=slope.exponent,
                stderr=slope.stderr,
                theory=_slope(sizes, [row.theory for row in sizes]).exponent,
            )


def _size(square: Measurement) -> Measurement:
    """The root of a mean square; its standard error by the delta method, d sqrt(x) = dx / (2 sqrt(x))."""
    size = math.sqrt(square.value)
    return replace(
        square,
        quantity="tiny_derivative_size",
        value=size,
        stderr=None if square.stderr is None else square.stderr / (2 * size),
        theory=math.sqrt(1 - 1 / square.n_keys) / square.n_keys,
    )


def _slope(sizes: list[Measurement], values: list[float]) -> PowerLaw:
    return power_law([row.n_keys for row in sizes], values, [row.stderr for row in sizes])
