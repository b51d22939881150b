"""Facts about the softmax and its derivative, checked on arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from attention_scaling.attention import score_gradient, softmax, softmax_jacobian
from attention_scaling.backends import Array, Backend
from attention_scaling.experiments.identity_rows import (
    derivative_method,
    identity,
    jacobian,
    largest,
    plain_softmax,
)
from attention_scaling.measurement import Measurement
from attention_scaling.theory.bounds import largest_capacity, winner_scores, winner_weight

QUANTITIES = {
    "weight_ratio": "ratio of the weights of two scores that are `variant` apart",
    "leading_weight": "weight of the leading one of two scores that are `variant` apart",
    "row_sum_error": "largest distance of a row's weights from a sum of 1",
    "diagonal_error": "largest error of a (1 - a) as the derivative of a weight by its own score",
    "cross_error": "largest error of -a_i a_j as the derivative of a weight by another score",
    "asymmetry": "largest difference between the softmax Jacobian and its transpose",
    "jacobian_row_sum": "largest row sum of the softmax Jacobian, in magnitude",
    "least_eigenvalue": "smallest eigenvalue of the softmax Jacobian over the tested rows",
    "quadratic_form_error": "largest difference between u^T J u and the variance of u under a",
    "trace_error": "largest difference between the Jacobian's trace and 1 - sum a^2",
    "capacity_excess": "largest 1 - sum a^2 over the tested rows, less its bound 1 - 1/n",
    "even_capacity": "1 - sum a^2 of equal weights",
    "one_hot_capacity": "1 - sum a^2 of a one-hot row",
    "one_hot_jacobian": "largest entry of a one-hot row's Jacobian",
    "closed_jacobian": "largest entry of the Jacobian where one score is `variant` ahead",
    "derivative_peak": "largest a (1 - a) over a fine grid of weights",
    "derivative_peak_at": "weight at which a (1 - a) is largest",
    "sigmoid_error": "largest difference between a (1 - a) and the sigmoid's derivative",
    "cross_entropy_error": "largest error of y_hat - y as the gradient of the cross-entropy",
    "wrong_class_gradient": "its entry of the right class where another class is `variant` ahead",
    "wrong_class_derivative": "a (1 - a) of the same entry, without the cross-entropy",
    "winner_weight": "weight of a winner that is `variant` ahead of all others, which tie",
    "winner_shortfall": "smallest excess of a winner's weight over that bound, over random rows",
    "vector_product_error": "largest error of a (g - a.g) against the Jacobian's product with g",
    "score_gradient_error": "largest error of score_gradient against the derivative of a loss",
    "score_gradient_difference": "largest difference of score_gradient from finite differences",
    "inputs_changed": "largest change that score_gradient makes to the arrays it receives",
    "one_hot_gradient": "largest gradient that a one-hot row passes to its scores",
    "tiny_weight_gap": "largest distance of a weight from 1/n in units of 1/n, scores of size 0.001",
    "output_derivative_error": "largest error of a_j (v_j - o) as derivative of the output",
    "largest_exponential": "largest exp(s - max s) of a row",
    "least_denominator": "smallest sum of exp(s - max s) over the tested rows",
}

GAPS = (8.0, 10.0, 12.0, 20.0, 40.0)
WINNER_KEYS, WINNER_MARGIN = 32, 10.0
EVEN_KEYS = (6, 8, 32)
TINY = 1e-3
TINY_KEYS = (32, 128, 512, 2048)
ROWS, KEYS = 64, 8


def measure(settings: object, backend: Backend, rng: np.random.Generator) -> Iterator[Measurement]:
    """All facts, on rows of scores of sizes from 0.1 to 10."""
    sizes = np.geomspace(0.1, 10, ROWS)[:, None]
    scores = backend.asarray(sizes * rng.normal(size=(ROWS, KEYS)))
    weights = softmax(scores)
    yield from _gaps(backend)
    yield from _derivatives(backend, scores)
    yield from _jacobian_properties(backend, weights, rng)
    yield from _limits(backend)
    yield from _sigmoid(backend)
    yield from _cross_entropy(backend, scores)
    yield from _winner(backend, rng)
    yield from _vector_product(backend, scores, rng)
    yield from _tiny(backend, rng)
    yield from _stable(backend, scores)


def _gaps(backend: Backend) -> Iterator[Measurement]:
    for gap in GAPS:
        weights = softmax(backend.asarray([gap, 0.0]))
        labels = {"variant": f"gap={gap:g}", "n_keys": 2}
        ratio = weights[0] / weights[1]
        yield identity(backend, "weight_ratio", ratio, theory=math.exp(gap), **labels)
        share = 1 / (1 + math.exp(-gap))
        yield identity(backend, "leading_weight", weights[0], theory=share, **labels)
        row = np.zeros(KEYS)
        row[0] = gap
        closed = softmax_jacobian(softmax(backend.asarray(row)))
        labels["n_keys"] = KEYS
        yield identity(backend, "closed_jacobian", largest(backend, closed), **labels)


def _derivatives(backend: Backend, scores: Array) -> Iterator[Measurement]:
    """The two cases of the derivative, against one that knows nothing of them."""
    on, off = 0.0, 0.0
    diagonal = np.eye(KEYS, dtype=bool)
    for row in range(scores.shape[0]):
        found = backend.to_numpy(jacobian(backend, plain_softmax, scores[row, :]))
        a = backend.to_numpy(softmax(scores[row, :]))
        errors = np.abs(found - np.where(diagonal, a * (1 - a), -np.outer(a, a)))
        on, off = max(on, errors[diagonal].max()), max(off, errors[~diagonal].max())
    labels = {"method": derivative_method(backend), "n_keys": KEYS, "theory": 0.0}
    yield identity(backend, "diagonal_error", on, **labels)
    yield identity(backend, "cross_error", off, **labels)


def _jacobian_properties(
    backend: Backend, weights: Array, rng: np.random.Generator
) -> Iterator[Measurement]:
    xp = backend.xp
    matrices = softmax_jacobian(weights)
    capacity = 1 - xp.sum(weights * weights, axis=-1)
    direction = backend.asarray(rng.normal(size=tuple(weights.shape)))
    form = xp.sum(direction * xp.matmul(matrices, direction[..., None])[..., 0], axis=-1)
    mean = xp.sum(weights * direction, axis=-1, keepdims=True)
    variance = xp.sum(weights * (direction - mean) ** 2, axis=-1)
    trace = xp.linalg.trace(matrices)
    values = {
        "row_sum_error": largest(backend, xp.sum(weights, axis=-1) - 1),
        "asymmetry": largest(backend, matrices - matrices.mT),
        "jacobian_row_sum": largest(backend, xp.sum(matrices, axis=-1)),
        "least_eigenvalue": backend.to_numpy(xp.linalg.eigvalsh(matrices)).min(),
        "quadratic_form_error": largest(backend, form - variance),
        "trace_error": largest(backend, trace - capacity),
        "capacity_excess": backend.to_numpy(capacity).max() - largest_capacity(KEYS),
    }
    for quantity, value in values.items():
        yield identity(backend, quantity, value, n_keys=KEYS, samples=ROWS)


def _limits(backend: Backend) -> Iterator[Measurement]:
    """Equal weights let most gradient through, a one-hot row none."""
    xp = backend.xp
    for n_keys in EVEN_KEYS:
        even = softmax(backend.asarray(np.zeros(n_keys)))
        capacity = 1 - xp.sum(even * even)
        theory = largest_capacity(n_keys)
        yield identity(backend, "even_capacity", capacity, n_keys=n_keys, theory=theory)
    one_hot = backend.asarray(np.eye(KEYS)[0])
    entries = largest(backend, softmax_jacobian(one_hot))
    capacity = 1 - xp.sum(one_hot * one_hot)
    upstream = backend.asarray(np.arange(1.0, KEYS + 1))
    passed = largest(backend, score_gradient(one_hot, upstream))
    for quantity, value in (
        ("one_hot_jacobian", entries),
        ("one_hot_capacity", capacity),
        ("one_hot_gradient", passed),
    ):
        yield identity(backend, quantity, value, n_keys=KEYS, theory=0.0)


def _sigmoid(backend: Backend) -> Iterator[Measurement]:
    """With two positions the softmax of (x, 0) is the sigmoid of x."""
    weights = np.linspace(0, 1, 1001)
    curve = backend.to_numpy(backend.asarray(weights) * (1 - backend.asarray(weights)))
    yield identity(backend, "derivative_peak", curve.max(), theory=0.25)
    yield identity(backend, "derivative_peak_at", weights[curve.argmax()], theory=0.5)

    def sigmoid(xp: Any, x: Array) -> Array:
        return 1 / (1 + xp.exp(-x))

    x = backend.asarray(np.linspace(-10, 10, 41))
    slopes = np.diagonal(backend.to_numpy(jacobian(backend, sigmoid, x)))
    pairs = backend.xp.stack([x, backend.xp.zeros_like(x)], axis=-1)
    a = backend.to_numpy(softmax(pairs))[:, 0]
    error = np.abs(a * (1 - a) - slopes).max()
    method = derivative_method(backend)
    yield identity(backend, "sigmoid_error", error, method=method, theory=0.0)


def _cross_entropy(backend: Backend, scores: Array) -> Iterator[Measurement]:
    target = 2

    def loss(xp: Any, z: Array) -> Array:
        return xp.log(xp.sum(xp.exp(z))) - z[target]

    one_hot = np.eye(KEYS)[target]
    error = 0.0
    for row in range(scores.shape[0]):
        gradient = backend.to_numpy(jacobian(backend, loss, scores[row, :]))
        predicted = backend.to_numpy(softmax(scores[row, :]))
        error = max(error, np.abs(gradient - (predicted - one_hot)).max())
    method = derivative_method(backend)
    yield identity(backend, "cross_entropy_error", error, method=method, theory=0.0)
    for gap in GAPS:
        wrong = np.zeros(KEYS)
        wrong[0] = gap
        scores = backend.asarray(wrong)
        a = softmax(scores)[target]
        gradient = jacobian(backend, loss, scores)[target]
        labels = {"method": method, "variant": f"gap={gap:g}", "n_keys": KEYS}
        yield identity(backend, "wrong_class_gradient", gradient, **labels)
        yield identity(backend, "wrong_class_derivative", a * (1 - a), **labels)


def _winner(backend: Backend, rng: np.random.Generator) -> Iterator[Measurement]:
    bound = winner_weight(WINNER_MARGIN, WINNER_KEYS)
    attained = softmax(backend.asarray(winner_scores(WINNER_MARGIN, WINNER_KEYS)))[0]
    labels = {"n_keys": WINNER_KEYS, "variant": f"margin={WINNER_MARGIN:g}"}
    yield identity(backend, "winner_weight", attained, theory=bound, **labels)
    rows = rng.normal(size=(ROWS, WINNER_KEYS)) * np.geomspace(0.01, 30, ROWS)[:, None]
    rows[:, 0] = rows[:, 1:].max(axis=1) + WINNER_MARGIN
    excess = backend.to_numpy(softmax(backend.asarray(rows)))[:, 0].min() - bound
    yield identity(backend, "winner_shortfall", excess, samples=ROWS, **labels)


def _vector_product(
    backend: Backend, scores: Array, rng: np.random.Generator
) -> Iterator[Measurement]:
    """score_gradient against the whole Jacobian, against a loss's derivative, and by differences."""
    xp = backend.xp
    weights = softmax(scores)
    upstream = backend.asarray(rng.normal(size=tuple(scores.shape)))
    before = backend.to_numpy(weights).copy(), backend.to_numpy(upstream).copy()
    found = score_gradient(weights, upstream)
    after = backend.to_numpy(weights), backend.to_numpy(upstream)
    changed = max(np.abs(new - old).max() for new, old in zip(after, before, strict=True))
    labels = {"n_keys": KEYS, "samples": ROWS, "theory": 0.0}
    yield identity(backend, "inputs_changed", changed, **labels)
    dense = xp.matmul(softmax_jacobian(weights), upstream[..., None])[..., 0]
    yield identity(backend, "vector_product_error", largest(backend, found - dense), **labels)

    def loss(xp: Any, s: Array) -> Array:
        return xp.sum(upstream * plain_softmax(xp, s))

    error = largest(backend, jacobian(backend, loss, scores) - found)
    labels["method"] = derivative_method(backend)
    yield identity(backend, "score_gradient_error", error, **labels)

    step, differences = 1e-5, np.empty((ROWS, KEYS))
    for column in range(KEYS):
        shift = backend.asarray(step * np.eye(KEYS)[column])
        change = softmax(scores + shift) - softmax(scores - shift)
        differences[:, column] = backend.to_numpy(xp.sum(upstream * change, axis=1)) / (2 * step)
    labels["method"] = "arithmetic"
    error = np.abs(differences - backend.to_numpy(found)).max()
    yield identity(backend, "score_gradient_difference", error, **labels)


def _tiny(backend: Backend, rng: np.random.Generator) -> Iterator[Measurement]:
    """Scores close to zero: even weights, and the derivative of the output by each score."""
    for n_keys in TINY_KEYS:
        weights = softmax(backend.asarray(TINY * rng.normal(size=n_keys)))
        gap = largest(backend, n_keys * weights - 1)
        yield identity(backend, "tiny_weight_gap", gap, n_keys=n_keys, theory=0.0)
    n_keys = TINY_KEYS[0]
    scores = backend.asarray(TINY * rng.normal(size=n_keys))
    values = backend.asarray(rng.normal(size=(n_keys, KEYS)))
    weights = softmax(scores)[:, None]
    derivatives = weights * (values - backend.xp.sum(weights * values, axis=0))

    def attended(xp: Any, s: Array) -> Array:
        return xp.sum(plain_softmax(xp, s)[:, None] * values, axis=0)

    error = largest(backend, jacobian(backend, attended, scores).T - derivatives)
    labels = {"method": derivative_method(backend), "n_keys": n_keys, "theory": 0.0}
    yield identity(backend, "output_derivative_error", error, **labels)


def _stable(backend: Backend, scores: Array) -> Iterator[Measurement]:
    xp = backend.xp
    exponentials = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    top = backend.to_numpy(xp.max(exponentials, axis=-1))
    least = backend.to_numpy(xp.sum(exponentials, axis=-1)).min()
    largest_of_all = top[np.abs(top - 1).argmax()]
    yield identity(backend, "largest_exponential", largest_of_all, samples=ROWS, theory=1.0)
    yield identity(backend, "least_denominator", least, samples=ROWS)
