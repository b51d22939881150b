"""Attention, plain and tiled, against independent formulas, derivatives and identities."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from attention_cases import VERSIONS, Problem, derivative, formula, gradients, problems
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_scaling.attention import attention_backward, scaled_dot_product_attention, scores

CLOSE = {"rtol": 1e-11, "atol": 1e-12}


@pytest.fixture(params=VERSIONS)
def version(request):
    return VERSIONS[request.param]


def run(version, backend, problem, dtype="float64"):
    """O, dQ, dK, dV of a version as float64 NumPy arrays."""
    arrays, options = problem.on(backend, dtype)
    return [backend.to_numpy(array) for array in version(*arrays, **options)]


def one_problem(seed=0, **options) -> Problem:
    rng = np.random.default_rng(seed)
    shapes = (2, 4, 3), (2, 5, 3), (2, 5, 2), (2, 4, 2)
    return Problem(*(rng.normal(size=shape) for shape in shapes), **options)


# Against the definition.


@pytest.mark.parametrize("name", VERSIONS)
@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_output_and_gradients_are_those_of_the_definition(backend, name, problem):
    output, *found = run(VERSIONS[name], backend, problem)
    np.testing.assert_allclose(output, formula(problem), **CLOSE)
    rng = np.random.default_rng(0)
    for letter, gradient in zip("QKV", found, strict=True):
        direction = rng.normal(size=gradient.shape)
        np.testing.assert_allclose(
            np.sum(gradient * direction), derivative(problem, letter, direction), **CLOSE
        )


@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True}, {"scale": 2.0}, {"mask": np.arange(20).reshape(4, 5) % 3 > 0}],
    ids=["bare", "causal", "scale", "mask"],
)
def test_every_entry_of_the_gradients(backend, version, options):
    problem = one_problem(**options)
    _, *found = run(version, backend, problem)
    for gradient, exact in zip(found, gradients(problem).values(), strict=True):
        np.testing.assert_allclose(gradient, exact, **CLOSE)


@pytest.mark.parametrize("name", VERSIONS)
@pytest.mark.parametrize(("dtype", "largest"), [("float32", 118), ("float64", 1014)])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_scores_up_to_the_edge_of_overflow(backend, name, dtype, largest, data):
    # Small whole numbers times a power of two: every score is exact, the largest up to 320 factor^2, and so the
    # definition in float64 decides which keys win and which tie.
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    factor = 2.0 ** data.draw(st.integers(0, largest // 2))
    problem = Problem(
        Q=factor * rng.integers(-8, 9, size=(4, 5)),
        K=factor * rng.integers(-8, 9, size=(6, 5)),
        V=rng.normal(size=(6, 2)).astype(dtype).astype(float),
        dO=rng.normal(size=(4, 2)).astype(dtype).astype(float),
        scale=1.0,
    )
    output, dQ, dK, dV = run(VERSIONS[name], backend, problem, dtype)
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(output, formula(problem), rtol=tolerance, atol=tolerance)
    # dQ is a sum of terms of the size of K, and dK of that of Q.
    for letter, gradient, size in (("Q", dQ, 8 * factor), ("K", dK, 8 * factor), ("V", dV, 1)):
        direction = rng.choice([-1.0, 1.0], size=gradient.shape) / size
        np.testing.assert_allclose(
            np.sum(gradient * direction),
            derivative(problem, letter, direction),
            rtol=tolerance,
            atol=10 * tolerance,
        )


@pytest.mark.parametrize("letter", ["Q", "K"])
def test_central_differences_converge_with_the_square_of_the_step(backend, version, letter):
    problem = one_problem(causal=True)
    direction = np.random.default_rng(1).normal(size=getattr(problem, letter).shape)
    gradient = run(version, backend, problem)[1 + "QKV".index(letter)]

    def loss(step):
        moved = {letter: getattr(problem, letter) + step * direction}
        return np.sum(problem.dO * run(version, backend, dataclasses.replace(problem, **moved))[0])

    steps = np.array([1e-1, 3e-2, 1e-2, 3e-3])
    errors = [
        abs((loss(h) - loss(-h)) / (2 * h) - np.sum(gradient * direction)) for h in steps.tolist()
    ]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(2, abs=0.05)


# Against PyTorch's automatic differentiation.


def as_function(version, **options):
    """A version as a function that PyTorch can differentiate, with our backward pass as its derivative."""
    import torch

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, Q, K, V):
            ctx.save_for_backward(Q, K, V)
            zeros = torch.zeros(*Q.shape[:-1], V.shape[-1], dtype=Q.dtype)
            return version(Q, K, V, zeros, **options)[0]

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, dO):
            return version(*ctx.saved_tensors, dO.contiguous(), **options)[1:]

    return Function.apply


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", ["none", "boolean", "additive"])
def test_gradcheck(version, causal, kind):
    import torch

    torch.manual_seed(0)
    Q, K, V = (torch.randn(2, *s, dtype=torch.float64) for s in ((3, 2), (4, 2), (4, 3)))
    mask = {
        "none": None,
        "boolean": torch.tensor([[1, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=torch.bool),
        "additive": torch.randn(3, 4, dtype=torch.float64),
    }[kind]
    function = as_function(version, causal=causal, mask=mask)
    assert torch.autograd.gradcheck(function, [x.requires_grad_() for x in (Q, K, V)])


def test_gradients_are_those_of_autograd(version):
    import torch

    torch.manual_seed(0)
    Q, K, V, dO = (
        torch.randn(3, *s, dtype=torch.float64) for s in ((6, 4), (9, 4), (9, 5), (6, 5))
    )
    inputs = [x.clone().requires_grad_() for x in (Q, K, V)]
    weights = torch.softmax(inputs[0] @ inputs[1].mT / 4**0.5, dim=-1)
    exact = torch.autograd.grad(weights @ inputs[2], inputs, dO)
    for gradient, expected in zip(version(Q, K, V, dO)[1:], exact, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-12, atol=1e-13)


# Identities.


@pytest.mark.parametrize("name", VERSIONS)
@given(problem=problems())
@settings(max_examples=40, deadline=None)
def test_identities_of_the_gradients(backend, name, problem):
    _, dQ, dK, dV = run(VERSIONS[name], backend, problem)
    # Every row of dS sums to 0, and dK = c dS^T Q, so dK sums to 0 over the keys.
    np.testing.assert_allclose(dK.sum(axis=-2), 0, atol=1e-11)
    # Rows of weights sum to 1, so dV sums to the dO of the queries that see a key.
    seen = np.isfinite(problem.added).any(axis=-1, keepdims=True)
    np.testing.assert_allclose(dV.sum(axis=-2), np.sum(problem.dO * seen, axis=-2), atol=1e-11)
    # Both are sum(S * dS) for the scores S before a mask.
    np.testing.assert_allclose(np.sum(problem.Q * dQ), np.sum(problem.K * dK), atol=1e-11)


def test_one_vector_added_to_all_keys_changes_nothing(backend, version):
    problem = one_problem()
    moved = dataclasses.replace(problem, K=problem.K + np.array([3.0, -7.0, 11.0]))
    before, after = run(version, backend, problem), run(version, backend, moved)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_weights_are_the_softmax_that_the_output_averages_with(backend):
    problem = one_problem(mask=np.arange(5) != 2)
    arrays, options = problem.on(backend)
    output, weights = scaled_dot_product_attention(*arrays[:3], **options, return_weights=True)
    weights = backend.to_numpy(weights)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-15 * 8)
    assert np.all(weights[..., 2] == 0)
    np.testing.assert_allclose(backend.to_numpy(output), weights @ problem.V, rtol=1e-13)


def test_backward_with_kept_weights_is_the_same(backend):
    problem = one_problem(causal=True)
    arrays, options = problem.on(backend)
    _, weights = scaled_dot_product_attention(*arrays[:3], **options, return_weights=True)
    for kept, again in zip(
        attention_backward(*arrays, **options, weights=weights),
        attention_backward(*arrays, **options),
        strict=True,
    ):
        assert np.array_equal(backend.to_numpy(kept), backend.to_numpy(again))


def test_scores_are_scaled_dot_products(backend):
    problem = one_problem()
    arrays, _ = problem.on(backend)
    expected = np.einsum("bim,bjm->bij", problem.Q, problem.K)
    np.testing.assert_allclose(
        backend.to_numpy(scores(arrays[0], arrays[1])),
        expected / np.sqrt(3),
        rtol=1e-13,
        atol=1e-15,
    )
    np.testing.assert_allclose(
        backend.to_numpy(scores(arrays[0], arrays[1], 1.0)), expected, rtol=1e-13, atol=1e-15
    )


# Masks.


@pytest.mark.parametrize("kind", ["boolean", "additive"])
def test_nothing_leaks_through_a_mask(backend, version, kind):
    seen = np.array([True, True, False, True, False])
    mask = seen if kind == "boolean" else np.where(seen, 0.5, -np.inf)
    problem = one_problem(mask=mask)
    K, V = problem.K.copy(), problem.V.copy()
    K[:, ~seen], V[:, ~seen] = 1e3, -1e6
    one = run(version, backend, problem)
    other = run(version, backend, dataclasses.replace(problem, K=K, V=V))
    output, dQ, dK, dV = one
    assert np.array_equal(output, other[0])
    assert np.array_equal(dQ, other[1])
    assert np.all(dK[:, ~seen] == 0)
    assert np.all(dV[:, ~seen] == 0)
    assert np.all(dK[:, seen] != 0)


@pytest.mark.parametrize(("n_queries", "n_keys"), [(3, 5), (5, 3), (4, 4)])
def test_causal_counts_from_the_start(backend, version, n_queries, n_keys):
    rng = np.random.default_rng(0)
    # Zero queries weigh all visible keys alike, and the values name their positions.
    problem = Problem(
        Q=np.zeros((n_queries, 2)),
        K=rng.normal(size=(n_keys, 2)),
        V=np.eye(n_keys),
        dO=np.ones((n_queries, n_keys)),
        causal=True,
    )
    weights = run(version, backend, problem)[0]
    for i in range(n_queries):
        visible = min(i + 1, n_keys)
        expected = np.r_[np.full(visible, 1 / visible), np.zeros(n_keys - visible)]
        np.testing.assert_allclose(weights[i], expected, rtol=1e-15)


@pytest.mark.parametrize("kind", ["boolean", "additive"])
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_a_query_that_sees_no_key_gives_zeros(backend, version, kind, dtype):
    seen = np.ones((4, 5), dtype=bool)
    seen[1] = False
    problem = one_problem(mask=seen if kind == "boolean" else np.where(seen, 0.0, -np.inf))
    output, dQ, dK, dV = run(version, backend, problem, dtype)
    assert np.all(output[:, 1] == 0)
    assert np.all(dQ[:, 1] == 0)
    others = [0, 2, 3]
    rest = dataclasses.replace(
        problem, Q=problem.Q[:, others], dO=problem.dO[:, others], mask=problem.mask[others]
    )
    _, _, dK_rest, dV_rest = run(version, backend, rest, dtype)
    close = {"rtol": 1e-12} if dtype == "float64" else {"rtol": 2**-10}
    np.testing.assert_allclose(dK, dK_rest, **close)
    np.testing.assert_allclose(dV, dV_rest, **close)


def test_with_no_key_visible_at_all_everything_is_zero(backend, version):
    problem = one_problem(mask=np.zeros((4, 5), dtype=bool))
    assert all(np.all(array == 0) for array in run(version, backend, problem))


# Shapes, dtypes, and what happens to the inputs.


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("accumulate", [None, "float64", "float32", "float16"])
def test_results_have_the_dtype_of_the_inputs(backend, version, dtype, accumulate):
    if not hasattr(backend.xp, dtype):
        pytest.skip(f"{backend.name} has no {dtype}")
    arrays, options = one_problem().on(backend, dtype)
    accumulate_dtype = accumulate and getattr(backend.xp, accumulate)
    results = version(*arrays, **options, accumulate_dtype=accumulate_dtype)
    assert all(result.dtype == arrays[0].dtype for result in results)


def test_accumulate_dtype_is_where_the_digits_go(backend, version):
    arrays, options = one_problem().on(backend, "float16")
    exact = formula(dataclasses.replace(one_problem(), **in_float16(arrays, backend)))
    errors = {}
    for name in ("float16", "float32"):
        options["accumulate_dtype"] = getattr(backend.xp, name)
        output = backend.to_numpy(version(*arrays, **options)[0])
        errors[name] = np.abs(output - exact).max()
        # float32 is what a 16-bit dtype gets unless told.
        default = version(*arrays, **(options | {"accumulate_dtype": None}))[0]
        assert np.array_equal(output, backend.to_numpy(default)) == (name == "float32")
    assert errors["float32"] < errors["float16"]
    _, weights = scaled_dot_product_attention(*arrays[:3], return_weights=True)
    assert weights.dtype == backend.xp.float32


def in_float16(arrays, backend):
    return dict(zip(("Q", "K", "V", "dO"), map(backend.to_numpy, arrays), strict=True))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("kind", ["none", "boolean", "additive"])
def test_inputs_are_never_written_to(backend, version, dtype, kind):
    seen = np.arange(20).reshape(4, 5) % 3 > 0
    mask = {"none": None, "boolean": seen, "additive": np.where(seen, 0.25, -np.inf)}[kind]
    arrays, options = one_problem(mask=mask, causal=True, scale=1.0).on(backend, dtype)
    watched = [*arrays, options["mask"]] if mask is not None else arrays
    before = [backend.to_numpy(array).copy() for array in watched]
    version(*arrays, **options)
    for array, copy in zip(watched, before, strict=True):
        assert np.array_equal(backend.to_numpy(array), copy)


def test_strided_inputs_are_as_good_as_packed_ones(backend, version):
    problem = one_problem()
    arrays, options = problem.on(backend)
    # The usual layout of heads: (batch, positions, heads, width), seen as (batch, heads, positions, width).
    xp, order = backend.xp, (1, 0, 2)
    packed = [xp.asarray(xp.permute_dims(array, order), copy=True) for array in arrays]
    strided = [xp.permute_dims(array, order) for array in packed]
    for one, other in zip(version(*arrays, **options), version(*strided, **options), strict=True):
        np.testing.assert_allclose(backend.to_numpy(one), backend.to_numpy(other), rtol=1e-13)


def test_no_queries_and_no_batch_are_empty_results(backend, version):
    for lead, n_queries in (((2,), 0), ((0,), 3), ((0, 2), 3)):
        problem = Problem(
            Q=np.ones((*lead, n_queries, 3)),
            K=np.ones((*lead, 5, 3)),
            V=np.ones((*lead, 5, 2)),
            dO=np.ones((*lead, n_queries, 2)),
        )
        output, dQ, dK, dV = run(version, backend, problem)
        assert output.shape == (*lead, n_queries, 2)
        assert dQ.shape == problem.Q.shape
        assert np.all(dK == 0)
        assert np.all(dV == 0)
