"""What attention costs beyond its matrix products, beside PyTorch's own, and in blocks beside whole matrices.

A pass is forward and backward at d_k = d_v = 64, 8 heads, float32, on one core. Its floor are the six products of
T^2 d_k that the plain way takes: Q K^T and A V forward, dO V^T, A^T dO, dS K and dS^T Q backward.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from attention_scaling import backends
from attention_scaling.attention import attention_backward, scaled_dot_product_attention
from attention_scaling.backends import Array, Backend
from attention_scaling.bench.record import Benchmark
from attention_scaling.bench.timing import Ratio, interleaved
from attention_scaling.tiled import tiled_attention, tiled_attention_backward
from attention_scaling.torch_kernels import run_kernel

HEADS = 8
WIDTH = 64
SHORT, LONG = 1024, 4096
"""Positions: where a matrix of weights is 4 MiB, and where it is 64 MiB."""

Arrays = tuple[Array, Array, Array, Array]


def measure() -> Iterator[Benchmark]:
    """All attention benchmarks on this machine, those of a GPU where there is one."""
    numpy, torch = backends.load("numpy"), backends.load("torch")
    with threadpool_limits(1):
        yield from _over_products(numpy)
        yield from _over_library(numpy, torch)
        yield from _tiled_over_plain(numpy)
    try:
        cuda = backends.load("torch", "cuda")
    except backends.UnavailableError as reason:
        what = "one pass at T = 4096, tiled over plain, CUDA"
        yield Benchmark.skipped("tiled_over_plain_cuda", what, str(reason))
        return
    yield from _on_cuda(cuda)


def matrices(backend: Backend, positions: int) -> Arrays:
    """Q, K, V and dO of shape (heads, positions, width), standard normal."""
    draws = backend.draws(np.random.SeedSequence(1))
    Q, K, V, dO = (draws.normal((HEADS, positions, WIDTH), "float32") for _ in range(4))
    return Q, K, V, dO


def plain(arrays: Arrays) -> tuple[Any, ...]:
    """Forward and backward over whole matrices; the backward pass takes the weights of the forward pass."""
    Q, K, V, dO = arrays
    output, weights = scaled_dot_product_attention(Q, K, V, return_weights=True)
    return output, *attention_backward(Q, K, V, dO, weights=weights)


def recomputed(arrays: Arrays) -> tuple[Any, ...]:
    """Forward and backward over whole matrices; the backward pass computes the weights again."""
    Q, K, V, dO = arrays
    return scaled_dot_product_attention(Q, K, V), *attention_backward(Q, K, V, dO)


def tiled(arrays: Arrays) -> tuple[Any, ...]:
    """Forward and backward in blocks."""
    Q, K, V, dO = arrays
    output, kept = tiled_attention(Q, K, V)
    return output, *tiled_attention_backward(Q, K, V, dO, kept)


def six_products(arrays: Arrays) -> Callable[[], None]:
    """The six matrix products of a pass and nothing else, into arrays that are there already."""
    Q, K, V, dO = arrays
    square, rows = np.empty((*Q.shape[:-1], K.shape[-2]), Q.dtype), np.empty_like(Q)

    def products() -> None:
        np.matmul(Q, K.mT, out=square)
        np.matmul(square, V, out=rows)
        np.matmul(dO, V.mT, out=square)
        np.matmul(square.mT, dO, out=rows)
        np.matmul(square, K, out=rows)
        np.matmul(square.mT, Q, out=rows)

    return products


def _over_products(numpy: Backend) -> Iterator[Benchmark]:
    arrays = matrices(numpy, SHORT)
    timings = interleaved(
        {
            "products": six_products(arrays),
            "tiled": lambda: tiled(arrays),
            "plain": lambda: plain(arrays),
        },
        rounds=15,
    )
    yield Benchmark.ratio(
        "tiled_over_products",
        f"one pass in blocks at T = {SHORT} over its six matrix products alone, NumPy",
        timings.ratio("tiled", "products"),
        at_most=1.8,
        bound_by="a seventh product and a second exponential: the weights are computed twice",
    )
    yield Benchmark.ratio(
        "plain_over_products",
        f"one pass over whole matrices at T = {SHORT} over its six matrix products alone, NumPy",
        timings.ratio("plain", "products"),
        at_most=1.8,
        bound_by="the exponential, and reading the weights from memory once per operation",
    )


def _over_library(numpy: Backend, torch: Backend) -> Iterator[Benchmark]:
    arrays = matrices(numpy, SHORT)
    tensors = tuple(torch.asarray(array, "float32") for array in arrays)
    timings = interleaved(
        {
            "math": lambda: run_kernel("math", *tensors),
            "flash": lambda: run_kernel("flash", *tensors),
            "tiled": lambda: tiled(arrays),
            "tiled torch": lambda: tiled(tensors),
        },
        rounds=15,
    )
    for name, way, kernel, bound in (
        ("tiled_over_math", "tiled", "math", 1.5),
        ("tiled_over_flash", "tiled", "flash", None),
        ("tiled_torch_over_flash", "tiled torch", "flash", None),
    ):
        library = "PyTorch arrays" if way == "tiled torch" else "NumPy"
        yield Benchmark.ratio(
            name,
            f"one pass in blocks at T = {SHORT}, {library}, over PyTorch's {kernel} kernel and autograd",
            timings.ratio(way, kernel),
            at_most=bound,
            bound_by="matrix products of two BLAS libraries, and one pass over a block per operation",
        )


def _tiled_over_plain(numpy: Backend) -> Iterator[Benchmark]:
    arrays = matrices(numpy, LONG)
    timings = interleaved(
        {
            "tiled": lambda: tiled(arrays),
            "plain": lambda: plain(arrays),
            "recomputed": lambda: recomputed(arrays),
        },
        rounds=5,
    )
    for name, way, how in (
        ("tiled_over_plain", "plain", "the weights kept for the backward pass"),
        ("tiled_over_recomputed", "recomputed", "the weights computed again in the backward pass"),
    ):
        yield Benchmark.ratio(
            name,
            f"one pass at T = {LONG}, in blocks over whole matrices with {how}, NumPy",
            timings.ratio("tiled", way),
            at_most=1.0,
            bound_by="matrix products, seven in blocks; writing and reading T^2 numbers a head",
        )
    working, whole = (
        [_allocated(lambda way=way: way(arrays), beyond_results=beyond) for way in (tiled, plain)]
        for beyond in (True, False)
    )
    yield Benchmark.ratio(
        "tiled_over_plain_memory",
        f"peak memory of one pass at T = {LONG} beyond its inputs and results, "
        "in blocks over whole matrices, NumPy",
        _exact(working[0] / working[1]),
        at_most=0.01,
        bound_by="two blocks and the gradients of one head",
    )
    yield Benchmark.ratio(
        "tiled_over_plain_memory_with_results",
        f"peak memory of one pass at T = {LONG} beyond its inputs, in blocks over whole matrices, NumPy",
        _exact(whole[0] / whole[1]),
        bound_by="the output and the three gradients, which both have to return",
    )


def _allocated(run: Callable[[], object], *, beyond_results: bool) -> int:
    """The peak of the bytes that `run` allocates in NumPy, with or without those of its result."""
    tracemalloc.start()
    try:
        result = run()
        left, peak = tracemalloc.get_traced_memory()
        del result
    finally:
        tracemalloc.stop()
    return peak - left if beyond_results else peak


def _exact(ratio: float) -> Ratio:
    """A ratio of counted bytes, the same in every round."""
    return Ratio(ratio, ratio, ratio)


def _on_cuda(cuda: Backend) -> Iterator[Benchmark]:
    import torch

    arrays = matrices(cuda, LONG)

    def finished(way: Callable[[Arrays], object]) -> Callable[[], None]:
        def run() -> None:
            way(arrays)
            torch.cuda.synchronize()

        return run

    def peak(way: Callable[[Arrays], object]) -> int:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        way(arrays)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before

    timings = interleaved({"tiled": finished(tiled), "plain": finished(plain)})
    yield Benchmark.ratio(
        "tiled_over_plain_cuda",
        f"one pass at T = {LONG}, in blocks over whole matrices, CUDA",
        timings.ratio("tiled", "plain"),
        bound_by="one launch per operation and block, and a seventh product",
    )
    yield Benchmark.ratio(
        "tiled_over_plain_memory_cuda",
        f"the allocator's peak of one pass at T = {LONG} beyond its inputs, in blocks over whole, CUDA",
        _exact(peak(tiled) / peak(plain)),
        bound_by="blocks of every head at once, and the results",
    )
