"""What collapsed sampling saves, and how close the samplers come to the cost of their draws.

All ratios compare the time to one and the same standard error of the mean largest weight, undivided: time per
row times the variance of what a row contributes. Timed on one core, with blocks as the experiments draw them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from attention_scaling import backends
from attention_scaling.backends import Backend
from attention_scaling.bench.record import Benchmark
from attention_scaling.bench.timing import Ratio, Timings, interleaved
from attention_scaling.sampling import rows as softmax_rows
from attention_scaling.sampling.scores import independent_keys, numbers_per_row, shared_keys
from attention_scaling.theory.softmax_means import softmax_mean

D_K = 1024
N_KEYS = 32
COLLAPSED_ROWS = 2**15
DIRECT_ROWS = 64
QUERIES_PER_SET = (8, 32, 128, 512)
"""Numbers of queries tried against one shared set of keys; the best of them is compared."""


def measure() -> Iterator[Benchmark]:
    """All sampling benchmarks on this machine, those of a GPU where there is one."""
    numpy = backends.load("numpy")
    yield from _against_direct(numpy)
    yield _against_shared_keys(numpy)
    yield _width_independence(numpy)
    yield _collapsed_floor(numpy)
    yield _direct_floor(numpy)
    yield _two_cores()
    yield _against_quadrature(numpy)
    torch = backends.load("torch")
    yield _library(numpy, torch)
    try:
        cuda = backends.load("torch", "cuda")
    except backends.UnavailableError as reason:
        yield Benchmark.skipped("sampling_cuda", "CUDA over NumPy, the same rows", str(reason))
        return
    yield from _on_cuda(numpy, cuda)


def top_weights(backend: Backend, method: str, rows: int, d_k: int = D_K) -> np.ndarray:
    """The largest weights of `rows` rows, drawn tile by tile as the experiments do."""
    draws = backend.draws(np.random.SeedSequence(1))
    tile = max(1, backend.tile_numbers // numbers_per_row(method, d_k=d_k, n_keys=N_KEYS))
    parts = []
    for start in range(0, rows, tile):
        scores = independent_keys(
            backend, draws, method, d_k=d_k, n_keys=N_KEYS, rows=min(tile, rows - start)
        )
        parts.append(softmax_rows.statistics(backend, scores, ["top_weight"])["top_weight"])
    return backend.to_numpy(backend.xp.concat(parts))


def _timed(rounds: int = 7, **ways: Callable[[], object]) -> Timings:
    """Core-seconds of each way, which other processes on the machine disturb least."""
    return interleaved(ways, rounds, clock=time.process_time)


def _against_direct(backend: Backend) -> Iterator[Benchmark]:
    timings = _timed(
        direct=lambda: top_weights(backend, "direct", DIRECT_ROWS),
        collapsed=lambda: top_weights(backend, "collapsed", COLLAPSED_ROWS),
    )
    # The law is the same, so the same number of rows gives the same standard error.
    yield Benchmark.ratio(
        "direct_over_collapsed",
        "time to a standard error of 1e-4, direct over collapsed sampling, NumPy",
        timings.ratio("direct", "collapsed", COLLAPSED_ROWS / DIRECT_ROWS),
        at_least=400,
        bound_by="drawing normal numbers: (T + 1) d_k a row against T + 1",
    )


def _against_shared_keys(backend: Backend) -> Benchmark:
    """The lessons' own way: queries against one shared set of keys, at its best number of queries a set."""
    collapsed = top_weights(backend, "collapsed", COLLAPSED_ROWS)
    best: Ratio | None = None
    for queries in QUERIES_PER_SET:
        sets = max(4, 512 // queries)

        def shared(sets: int = sets, queries: int = queries, seed: int = 1) -> np.ndarray:
            draws = backend.draws(np.random.SeedSequence(seed))
            means = []
            for _ in range(sets):
                scores = shared_keys(
                    backend, draws, "direct", d_k=D_K, n_keys=N_KEYS, sets=1, queries=queries
                )
                found = softmax_rows.statistics(backend, scores, ["top_weight"])
                means.append(float(backend.xp.mean(found["top_weight"])))
            return np.array(means)

        timings = _timed(
            rounds=3,
            shared=shared,
            collapsed=lambda: top_weights(backend, "collapsed", COLLAPSED_ROWS),
        )
        # Queries of one set share its luck, so the spread is taken over the means of many sets.
        variance = _collapsed_set_means(backend, queries).var(ddof=1)
        work = (variance / sets) / (collapsed.var(ddof=1) / COLLAPSED_ROWS)
        ratio = timings.ratio("shared", "collapsed", work)
        if best is None or ratio.median < best.median:
            best = ratio
    return Benchmark.ratio(
        "shared_keys_over_collapsed",
        "time to a standard error of 1e-4, the lessons' own way over collapsed sampling, NumPy",
        best,
        at_least=20,
        bound_by="drawing d_k normal numbers a query, and keys that many queries share",
    )


def _collapsed_set_means(backend: Backend, queries: int, sets: int = 2000) -> np.ndarray:
    """Means over `queries` queries of one set, for `sets` sets: the law of the lessons' way, cheaply."""
    draws = backend.draws(np.random.SeedSequence(2))
    means = []
    for _ in range(sets // 50):
        scores = shared_keys(
            backend, draws, "collapsed", d_k=D_K, n_keys=N_KEYS, sets=50, queries=queries
        )
        scores = backend.asarray(scores)
        found = softmax_rows.statistics(backend, scores.copy(), ["top_weight"])["top_weight"]
        means.append(found.mean(axis=1))
    return np.concatenate(means)


def _width_independence(backend: Backend) -> Benchmark:
    timings = _timed(
        wide=lambda: top_weights(backend, "collapsed", COLLAPSED_ROWS, d_k=1_000_000),
        narrow=lambda: top_weights(backend, "collapsed", COLLAPSED_ROWS, d_k=4),
    )
    return Benchmark.ratio(
        "collapsed_wide_over_narrow",
        "collapsed sampling, d_k = 1,000,000 over d_k = 4, the same rows, NumPy",
        timings.ratio("wide", "narrow"),
        at_most=1.15,
        bound_by="the same draws at every width; one chi-squared number a row",
    )


def _collapsed_floor(backend: Backend) -> Benchmark:
    tile = backend.tile_numbers // (N_KEYS + 1)

    def floor() -> None:
        draws = backend.draws(np.random.SeedSequence(1))
        for start in range(0, COLLAPSED_ROWS, tile):
            numbers = draws.normal((N_KEYS + 1, min(tile, COLLAPSED_ROWS - start)))
            backend.exp_in_place(numbers)

    timings = _timed(
        floor=floor,
        collapsed=lambda: top_weights(backend, "collapsed", COLLAPSED_ROWS),
    )
    return Benchmark.ratio(
        "collapsed_floor",
        "drawing as many normals and taking as many exponentials, over the collapsed sampler, NumPy",
        timings.ratio("floor", "collapsed"),
        at_least=0.6,
        bound_by="normal numbers and exponentials",
    )


def _direct_floor(backend: Backend) -> Benchmark:
    per_row = numbers_per_row("direct", d_k=D_K, n_keys=N_KEYS)
    tile = max(1, backend.tile_numbers // per_row)

    def floor() -> None:
        draws = backend.draws(np.random.SeedSequence(1))
        for start in range(0, DIRECT_ROWS, tile):
            draws.normal((min(tile, DIRECT_ROWS - start), per_row))

    timings = _timed(floor=floor, direct=lambda: top_weights(backend, "direct", DIRECT_ROWS))
    return Benchmark.ratio(
        "direct_floor",
        "drawing as many normals, over the direct sampler, NumPy",
        timings.ratio("floor", "direct"),
        at_least=0.7,
        bound_by="normal numbers",
    )


def _two_cores(rounds: int = 3) -> Benchmark:
    """The same blocks by one process after the other, over two processes at once."""
    command = [sys.executable, "-m", "attention_scaling.bench.worker"]

    def one_core() -> None:
        for _ in range(2):
            subprocess.run(command, check=True)

    def two_cores() -> None:
        jobs = [subprocess.Popen(command) for _ in range(2)]
        for job in jobs:
            job.wait()

    timings = interleaved({"one": one_core, "two": two_cores}, rounds)
    return Benchmark.ratio(
        "two_cores",
        "the same jobs on one core over two cores",
        timings.ratio("one", "two"),
        at_least=1.8,
        bound_by="nothing shared: jobs are processes of one thread",
    )


def _against_quadrature(backend: Backend) -> Benchmark:
    rows = top_weights(backend, "collapsed", COLLAPSED_ROWS)

    def quadrature() -> None:
        softmax_mean.cache_clear()
        softmax_mean("top_weight", n_keys=N_KEYS, d_k=D_K, divisor="none")

    timings = _timed(
        rounds=5,
        collapsed=lambda: top_weights(backend, "collapsed", COLLAPSED_ROWS),
        quadrature=quadrature,
    )
    needed = rows.var(ddof=1) / 1e-6**2
    return Benchmark.ratio(
        "collapsed_over_quadrature",
        "collapsed sampling to 1e-6 (extrapolated) over quadrature to 1e-8, the same cell, NumPy",
        timings.ratio("collapsed", "quadrature", needed / COLLAPSED_ROWS),
        at_least=1000,
        bound_by="sampling error falls with the root of the work",
    )


def _library(numpy: Backend, torch: Backend) -> Benchmark:
    timings = _timed(
        torch=lambda: top_weights(torch, "collapsed", COLLAPSED_ROWS),
        numpy=lambda: top_weights(numpy, "collapsed", COLLAPSED_ROWS),
    )
    return Benchmark.ratio(
        "torch_over_numpy",
        "collapsed sampling, PyTorch on the CPU over NumPy, the same rows",
        timings.ratio("torch", "numpy"),
        bound_by="the normal generator: NumPy's ziggurat on SFC64, PyTorch's Box-Muller on MT19937",
    )


def _on_cuda(numpy: Backend, cuda: Backend) -> Iterator[Benchmark]:
    rows = 2**22

    def synchronised(work: Callable[[], object]) -> Callable[[], None]:
        import torch

        def run() -> None:
            work()
            torch.cuda.synchronize()

        return run

    def floor() -> None:
        draws = cuda.draws(np.random.SeedSequence(1))
        tile = cuda.tile_numbers // (N_KEYS + 1)
        for start in range(0, rows, tile):
            cuda.exp_in_place(draws.normal((N_KEYS + 1, min(tile, rows - start))))

    timings = interleaved(
        {
            "cuda": synchronised(lambda: top_weights(cuda, "collapsed", rows)),
            "floor": synchronised(floor),
            "numpy": lambda: top_weights(numpy, "collapsed", COLLAPSED_ROWS),
        }
    )
    yield Benchmark.ratio(
        "sampling_cuda",
        "collapsed sampling, NumPy on one core over CUDA, the same rows",
        timings.ratio("numpy", "cuda", rows / COLLAPSED_ROWS),
        bound_by="the card's memory: every step reads and writes the tile",
    )
    yield Benchmark.ratio(
        "cuda_floor",
        "drawing as many normals and taking as many exponentials, over the collapsed sampler, CUDA",
        timings.ratio("floor", "cuda"),
        bound_by="the card's memory",
    )
