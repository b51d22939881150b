"""The softmax, its derivative, and the moments of the scores that go into it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_scaling.attention import (
    naive_softmax,
    scaled_score_moments,
    score_gradient,
    softmax,
    softmax_jacobian,
)


def rows(seed: int = 0, n_rows: int = 5, n: int = 7) -> np.ndarray:
    return 2 * np.random.default_rng(seed).normal(size=(n_rows, n))


def weights_of(backend, scores, **options) -> np.ndarray:
    return backend.to_numpy(softmax(backend.asarray(scores), **options))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_softmax_at_any_size_of_scores(backend, dtype, data):
    xp = backend.xp
    if not hasattr(xp, dtype):
        pytest.skip(f"{backend.name} has no {dtype}")
    limits = xp.finfo(getattr(xp, dtype))
    # Exponents from far below 1 up to the edge of the dtype's range, both signs.
    numbers = st.floats(
        -float(limits.max), float(limits.max), allow_nan=False, allow_infinity=False
    ) | st.floats(-20, 20)
    drawn = data.draw(st.lists(numbers, min_size=1, max_size=8))
    scores = xp.astype(backend.asarray([drawn]), getattr(xp, dtype))
    exact = backend.to_numpy(scores).astype(np.longdouble)
    exponentials = np.exp(exact - exact.max())
    expected = (exponentials / exponentials.sum()).astype(float)
    weights = backend.to_numpy(softmax(scores))
    np.testing.assert_allclose(weights, expected, rtol=0, atol=4 * float(limits.eps))
    assert np.all(weights >= 0)


def test_rows_sum_to_one_and_a_shift_changes_nothing(backend):
    scores = rows()
    weights = weights_of(backend, scores)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-15 * 4)
    # Powers of two and sums that stay exact: the shifted scores have exactly the same differences.
    scores = np.round(scores * 2**20) / 2**20
    assert np.array_equal(weights_of(backend, scores), weights_of(backend, scores + 2.0**20))


def test_winners_do_not_depend_on_the_divisor(backend):
    scores = rows()
    for divisor in (1.0, 8.0, 64.0):
        winners = weights_of(backend, scores / divisor).argmax(axis=-1)
        assert np.array_equal(winners, scores.argmax(axis=-1))


@pytest.mark.parametrize("kind", ["boolean", "additive"])
def test_masked_positions_weigh_nothing_and_unseeing_rows_are_zero(backend, kind):
    scores = rows()
    seen = np.random.default_rng(1).random(scores.shape) < 0.6
    seen[2] = False
    seen[3, 0] = True
    if kind == "boolean":
        mask = backend.xp.asarray(seen, device=backend.device)
    else:
        mask = backend.asarray(np.where(seen, 0.0, -np.inf))
    weights = weights_of(backend, scores, mask=mask)
    assert np.all(weights[~seen] == 0)
    for row, kept, found in zip(scores, seen, weights, strict=True):
        if kept.any():
            exponentials = np.exp(row[kept] - row[kept].max())
            np.testing.assert_allclose(found[kept], exponentials / exponentials.sum(), rtol=1e-14)


def test_softmax_never_writes_to_its_input(backend):
    scores = backend.asarray(rows())
    before = backend.to_numpy(scores).copy()
    softmax(scores)
    naive_softmax(scores)
    assert np.array_equal(backend.to_numpy(scores), before)


def test_naive_softmax_is_the_softmax_until_it_overflows(backend):
    np.testing.assert_allclose(
        backend.to_numpy(naive_softmax(backend.asarray(rows()))),
        weights_of(backend, rows()),
        rtol=1e-14,
    )


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [("float16", 65504.0), ("bfloat16", 3.3895313892515355e38), ("float32", 3.4028234663852886e38)],
)
@pytest.mark.filterwarnings("error")
def test_naive_softmax_breaks_above_the_logarithm_of_the_largest_number(backend, dtype, largest):
    if not hasattr(backend.xp, dtype):
        pytest.skip(f"{backend.name} has no {dtype}")
    cutoff = np.log(largest)
    for score, breaks in ((0.99 * cutoff, False), (1.01 * cutoff, True)):
        scores = backend.asarray([[score, 0.0]], dtype)
        assert np.isnan(backend.to_numpy(naive_softmax(scores))[0, 0]) == breaks
        assert backend.to_numpy(softmax(scores))[0, 0] == pytest.approx(1, abs=2e-5)


# The derivative.


def test_jacobian_is_symmetric_sums_to_zero_and_is_positive_semidefinite(backend):
    weights = weights_of(backend, rows())
    jacobians = backend.to_numpy(softmax_jacobian(backend.asarray(weights)))
    assert jacobians.shape == (5, 7, 7)
    assert np.array_equal(jacobians, np.swapaxes(jacobians, 1, 2))
    np.testing.assert_allclose(jacobians.sum(axis=-1), 0, atol=1e-16)
    assert np.linalg.eigvalsh(jacobians).min() > -1e-16
    traces = np.trace(jacobians, axis1=1, axis2=2)
    np.testing.assert_allclose(traces, 1 - np.sum(weights**2, axis=-1), rtol=1e-14)
    assert traces.max() <= 1 - 1 / 7
    u = np.random.default_rng(1).normal(size=7)
    mean = weights @ u
    variance = weights @ u**2 - mean**2
    np.testing.assert_allclose(u @ jacobians @ u, variance, rtol=1e-13)


def test_jacobian_of_even_and_of_closed_rows(backend):
    even = backend.to_numpy(softmax_jacobian(backend.asarray(np.full(8, 1 / 8))))
    assert np.trace(even) == 1 - 1 / 8
    closed = backend.to_numpy(softmax_jacobian(backend.asarray(np.eye(8)[3])))
    assert np.all(closed == 0)


def test_jacobian_is_the_derivative_by_complex_step(backend):
    scores = rows(n_rows=1)[0]
    jacobian = backend.to_numpy(softmax_jacobian(backend.asarray(weights_of(backend, scores))))
    for j in range(scores.size):
        moved = scores + 1e-20j * (np.arange(scores.size) == j)
        exponentials = np.exp(moved)
        column = (exponentials / exponentials.sum()).imag / 1e-20
        np.testing.assert_allclose(jacobian[:, j], column, rtol=1e-13, atol=1e-16)


def test_jacobian_by_central_differences_with_error_of_second_order(backend):
    scores, j = rows(n_rows=1)[0], 2
    jacobian = backend.to_numpy(softmax_jacobian(backend.asarray(weights_of(backend, scores))))
    steps, errors = [1e-1, 3e-2, 1e-2, 3e-3], []
    for step in steps:
        unit = step * (np.arange(scores.size) == j)
        column = (weights_of(backend, scores + unit) - weights_of(backend, scores - unit)) / 2
        errors.append(np.abs(column / step - jacobian[:, j]).max())
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(2, abs=0.05)


@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-2, 1.0, 10.0]))
@settings(max_examples=40, deadline=None)
def test_score_gradient_is_the_jacobian_times_the_gradient(backend, seed, size):
    rng = np.random.default_rng(seed)
    weights = weights_of(backend, size * rng.normal(size=(3, 4, 6)))
    upstream = rng.normal(size=weights.shape)
    A, G = backend.asarray(weights), backend.asarray(upstream)
    found = backend.to_numpy(score_gradient(A, G))
    jacobians = backend.to_numpy(softmax_jacobian(A))
    expected = np.einsum("...ij,...j->...i", jacobians, upstream)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.sum(axis=-1), 0, atol=1e-14)
    assert np.array_equal(backend.to_numpy(A), weights)
    assert np.array_equal(backend.to_numpy(G), upstream)


def test_score_gradient_is_that_of_autograd():
    import torch

    torch.manual_seed(0)
    scores = (3 * torch.randn(4, 9, dtype=torch.float64)).requires_grad_()
    weights = torch.softmax(scores, dim=-1)
    G = torch.randn(4, 9, dtype=torch.float64)
    (expected,) = torch.autograd.grad(weights, scores, G)
    found = score_gradient(weights.detach(), G)
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_score_gradient_keeps_the_dtype(backend, dtype):
    if not hasattr(backend.xp, dtype):
        pytest.skip(f"{backend.name} has no {dtype}")
    A, G = backend.asarray([[0.5, 0.25, 0.25]], dtype), backend.asarray([[4.0, 2.0, 0.0]], dtype)
    found = score_gradient(A, G)
    assert found.dtype == A.dtype
    assert np.array_equal(backend.to_numpy(found), [[0.75, -0.125, -0.625]])


# The moments of a score.


@pytest.mark.parametrize("d_k", [1, 4, 64, 1024])
@pytest.mark.parametrize("rho", [-1.0, -0.3, 0.0, 0.5, 1.0])
def test_score_moments_by_quadrature(d_k, rho):
    # One coordinate's term q (rho q + sqrt(1 - rho^2) z) over both normal numbers: Gauss-Hermite quadrature of
    # this order is exact for its mean and variance, and the d_k terms are independent.
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(8)
    node_weights = node_weights / node_weights.sum()
    q, z = np.meshgrid(nodes, nodes)
    joint = np.outer(node_weights, node_weights)
    term = q * (rho * q + np.sqrt(1 - rho**2) * z)
    mean = np.sum(joint * term)
    variance = np.sum(joint * (term - mean) ** 2)
    found = scaled_score_moments(d_k, rho)
    assert found == pytest.approx((d_k * mean / np.sqrt(d_k), d_k * variance / d_k), abs=1e-12)


def test_score_moments_of_independent_vectors():
    assert scaled_score_moments(512, 0) == (0, 1)
