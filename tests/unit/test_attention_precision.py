"""Rounding errors beside PyTorch's own: at most twice as large, forward and backward, at every dtype.

The reference is PyTorch's math kernel and automatic differentiation in float64 on the same rounded inputs.
Compared are the root mean square error of each kind of problem, and the largest error over all of them. The
largest error of one problem is one number out of thousands: with the same code it varies twofold between seeds.
"""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
from attention_cases import VERSIONS, Problem

from attention_scaling import backends
from attention_scaling.torch_kernels import run_kernel

SHAPES = ((128, 160, 64, 32), (64, 64, 16, 16), (200, 90, 128, 64))
"""T_q, T_k, d_k, d_v."""

SEEDS = range(8)
RESULTS = ("O", "dQ", "dK", "dV")


def drawn(shape: tuple[int, ...], causal: bool, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    n_queries, n_keys, d_k, d_v = shape
    sizes = (n_queries, d_k), (n_keys, d_k), (n_keys, d_v), (n_queries, d_v)
    return Problem(*(rng.normal(size=(2, 2, *size)) for size in sizes), causal=causal)


def errors(backend, dtype: str, problem: Problem) -> dict[str, dict[str, np.ndarray]]:
    """The absolute errors of O, dQ, dK and dV, by PyTorch and by each version."""
    library = backends.load("torch", backend.device)
    rounded, options = problem.on(library, dtype)
    exact = run_kernel("math", *(array.double() for array in rounded), **options)
    pytorch = run_kernel("math", *rounded, **options)
    found = {"pytorch": (library, (pytorch.output, *pytorch.gradients))}
    arrays, options = problem.on(backend, dtype)
    for name, version in VERSIONS.items():
        blocks = {"block": (64, 48)} if name == "tiled" else {}
        found[name] = backend, version(*arrays, **options, **blocks)
    return {
        name: {
            result: np.abs(where.to_numpy(array) - library.to_numpy(truth))
            for result, array, truth in zip(
                RESULTS, arrays, (exact.output, *exact.gradients), strict=True
            )
        }
        for name, (where, arrays) in found.items()
    }


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_errors_are_at_most_twice_those_of_pytorch(backend, dtype):
    if not hasattr(backend.xp, dtype):
        pytest.skip(f"{backend.name} has no {dtype}")
    largest: dict[tuple[str, str], float] = defaultdict(float)
    for shape, causal in itertools.product(SHAPES, (False, True)):
        squares: dict[tuple[str, str], float] = defaultdict(float)
        for seed in SEEDS:
            for name, by_result in errors(backend, dtype, drawn(shape, causal, seed)).items():
                for result, error in by_result.items():
                    squares[name, result] += np.mean(error**2)
                    largest[name, result] = max(largest[name, result], error.max())
        for name, result in itertools.product(VERSIONS, RESULTS):
            ratio = np.sqrt(squares[name, result] / squares["pytorch", result])
            assert ratio <= 2, f"{result} by {name}, {shape}, causal {causal}: {ratio:.2f}"
    for name, result in itertools.product(VERSIONS, RESULTS):
        ratio = largest[name, result] / largest["pytorch", result]
        assert ratio <= 2, f"largest error of {result} by {name}: {ratio:.2f}"
