"""What is particular to attention in blocks: any block gives the same, and memory grows with T."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
from attention_cases import plain_version, problems, tiled_version
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from attention_scaling.attention import attention_backward, scaled_dot_product_attention
from attention_scaling.tiled import tiled_attention, tiled_attention_backward


@given(problem=problems(), block=st.tuples(st.integers(1, 9), st.integers(1, 9)))
@settings(max_examples=60, deadline=None)
def test_any_block_gives_what_the_whole_matrix_gives(backend, problem, block):
    arrays, options = problem.on(backend)
    whole = plain_version(*arrays, **options)
    for one, other in zip(whole, tiled_version(*arrays, **options, block=block), strict=True):
        np.testing.assert_allclose(
            backend.to_numpy(other), backend.to_numpy(one), rtol=1e-11, atol=1e-12
        )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("causal", [False, True])
def test_default_blocks_over_several_of_them(backend, dtype, causal):
    rng = np.random.default_rng(0)
    arrays = [backend.asarray(rng.normal(size=(2, n, 16)), dtype) for n in (1100, 700, 700, 1100)]
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    whole = plain_version(*arrays, causal=causal)
    for one, other in zip(whole, tiled_version(*arrays, causal=causal, block=None), strict=True):
        np.testing.assert_allclose(
            backend.to_numpy(other), backend.to_numpy(one), rtol=tolerance, atol=tolerance
        )


@given(problem=problems())
@settings(max_examples=40, deadline=None)
def test_log_sum_exp(backend, problem):
    arrays, options = problem.on(backend)
    _, kept = tiled_attention(*arrays[:3], block=(2, 3), **options)
    scale = 1 / np.sqrt(problem.Q.shape[-1]) if problem.scale is None else problem.scale
    scores = scale * np.einsum("...im,...jm->...ij", problem.Q, problem.K) + problem.added
    with np.errstate(divide="ignore"):
        expected = logsumexp(scores, axis=-1)
    np.testing.assert_allclose(backend.to_numpy(kept.log_sum_exp), expected, rtol=1e-12, atol=1e-13)


def test_scores_that_rise_from_block_to_block(backend):
    # Every block of keys brings a larger maximum, by far more than the exponential's range.
    rising = np.arange(12.0)[:, None]
    Q = backend.asarray([[1.0]])
    for values in (rising, np.flip(rising).copy()):
        K, V = backend.asarray(1e3 * values), backend.asarray(values)
        output, _ = tiled_attention(Q, K, V, block=(1, 1))
        assert backend.to_numpy(output) == 11


def peak_memory(run) -> tuple[int, int]:
    """The peak of what `run` allocates in NumPy, and what is left of it in its result, in bytes."""
    run()
    gc.collect()
    tracemalloc.start()
    try:
        result = run()
        left, peak = tracemalloc.get_traced_memory()
        del result
    finally:
        tracemalloc.stop()
    return peak, left


def working_memory(n: int, tiled: bool) -> int:
    """Bytes that one forward and backward pass needs beyond its inputs and results."""
    rng = np.random.default_rng(0)
    Q, K, V, dO = (rng.normal(size=(n, 16)).astype(np.float32) for _ in range(4))

    def in_blocks():
        _, kept = tiled_attention(Q, K, V, block=(64, 64))
        return kept, tiled_attention_backward(Q, K, V, dO, kept, block=(64, 64))

    def whole():
        output, weights = scaled_dot_product_attention(Q, K, V, return_weights=True)
        return output, attention_backward(Q, K, V, dO, weights=weights)

    peak, left = peak_memory(in_blocks if tiled else whole)
    return peak - left


def test_memory_grows_with_the_length_and_not_with_its_square():
    lengths = np.array([512, 1024, 2048])
    blocks = np.array([working_memory(n, tiled=True) for n in lengths.tolist()])
    whole = np.array([working_memory(n, tiled=False) for n in lengths.tolist()])
    # Twice the length: at most twice the memory in blocks, four times with the whole matrix.
    assert np.all(blocks[1:] / blocks[:-1] < 2.05)
    np.testing.assert_allclose(whole[1:] / whole[:-1], 4, rtol=0.05)
    assert whole[-1] / blocks[-1] > 50
