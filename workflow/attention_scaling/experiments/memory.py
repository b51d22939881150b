"""How much memory a pass of attention takes, over whole matrices and in blocks, over the number of positions.

Over whole matrices the weights are held, T numbers for each of T queries, and kept for the backward pass. In
blocks there are never more than a few blocks of them; what the backward pass needs is the output and two numbers
a query, the largest score and the sum of exponentials, which together are the log-sum-exp (Dao et al.,
"FlashAttention", 2022, section 3.1). Peaks are what the allocator reports beyond the arrays that go in:
`tracemalloc` for NumPy, PyTorch's own account on CUDA. PyTorch keeps no such account on the CPU.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from attention_scaling.backends import Backend
from attention_scaling.experiments.fields import KeyCounts
from attention_scaling.experiments.versions import Version, versions
from attention_scaling.measurement import Measurement
from attention_scaling.validation import StrictModel

NAME = "memory"

QUANTITIES = {
    "peak_bytes": "largest memory in use during the pass `cell`, beyond Q, K, V and dO",
    "kept_bytes": "memory in use between the passes: the output, and what the backward pass needs",
    "peak_share": "that peak over the size of a whole matrix of scores",
    "peak_growth": "slope of the peak over the number of positions in log-log axes, at the two largest",
    "kept_growth": "the same slope of what is kept",
}

DTYPE, ITEM_BYTES = "float32", 4
SEED = 1


class Settings(StrictModel):
    """Settings of the memory experiment."""

    lengths: KeyCounts = [512, 1024, 2048, 4096]
    d_k: Annotated[PositiveInt, Field(description="Width of queries, keys and values.")] = 64
    block: Annotated[
        PositiveInt,
        Field(description="Queries and keys of a block: small beside what grows with the length."),
    ] = 128


@dataclass(frozen=True)
class Account:
    """The allocator's account: bytes in use now, and a peak that can be set back to it."""

    now: Callable[[], int]
    peak: Callable[[], int]
    reset: Callable[[], None]


def measure(settings: Settings, backend: Backend) -> Iterator[Measurement]:
    """Peaks of both passes and what is kept between them, and how they grow."""
    row = Measurement(
        experiment=NAME,
        quantity="all",
        method="memory",
        backend=backend.name,
        device=backend.device,
        dtype=DTYPE,
        d_k=settings.d_k,
    )
    if backend.name == "torch" and backend.device == "cpu":
        reason = "PyTorch keeps no account of the memory that it has in use on a CPU"
        yield replace(row, method="skipped", skipped=reason)
        return
    found = []
    lengths = sorted(settings.lengths)
    with _account(backend) as account:
        for variant, version in versions(settings.block).items():
            row = replace(row, variant=variant)
            # A library sets up in its first call what it then keeps: that call does not count.
            _measured(replace(row, n_keys=lengths[0]), version, backend, account)
            for n_keys in lengths:
                found += _measured(replace(row, n_keys=n_keys), version, backend, account)
    yield from found
    for row in found:
        if row.quantity == "peak_bytes":
            share = row.value / (ITEM_BYTES * row.n_keys**2)
            yield replace(row, quantity="peak_share", value=share, unit="1")
    yield from _growth(found)


def _measured(
    row: Measurement, version: Version, backend: Backend, account: Account
) -> list[Measurement]:
    """Peaks and what is kept of one version at one length."""
    draws = backend.draws(np.random.SeedSequence(SEED))
    Q, K, V, dO = (draws.normal((row.n_keys, row.d_k), DTYPE) for _ in range(4))
    before = account.now()
    account.reset()
    output, kept = version.forward(Q, K, V)
    forward, between = account.peak() - before, account.now() - before
    account.reset()
    version.backward(Q, K, V, dO, kept)
    backward = account.peak() - before
    row = replace(row, unit="bytes")
    numbers = row.n_keys * (row.d_k + version.kept_numbers(row.n_keys))
    return [
        replace(row, quantity="peak_bytes", cell="forward", value=float(forward)),
        replace(row, quantity="peak_bytes", cell="backward", value=float(backward)),
        replace(
            row,
            quantity="kept_bytes",
            value=float(between),
            theory=float(ITEM_BYTES * numbers),
        ),
    ]


def _growth(rows: list[Measurement]) -> Iterator[Measurement]:
    """Slopes at the two largest lengths, where what grows slower counts least."""
    lines: dict[tuple[str, str, str | None], list[Measurement]] = {}
    for row in rows:
        lines.setdefault((row.quantity, row.variant, row.cell), []).append(row)
    for points in lines.values():
        if len(points) > 1:
            last, largest = points[-2:]
            slope = math.log(largest.value / last.value) / math.log(largest.n_keys / last.n_keys)
            quantity = last.quantity.replace("_bytes", "_growth")
            yield replace(last, quantity=quantity, n_keys=None, value=slope, theory=None, unit="1")


def _account(backend: Backend) -> AbstractContextManager[Account]:
    return _numpy_account() if backend.name == "numpy" else _cuda_account(backend)


@contextmanager
def _numpy_account() -> Iterator[Account]:
    tracemalloc.start()
    try:
        yield Account(
            now=lambda: tracemalloc.get_traced_memory()[0],
            peak=lambda: tracemalloc.get_traced_memory()[1],
            reset=tracemalloc.reset_peak,
        )
    finally:
        tracemalloc.stop()


@contextmanager
def _cuda_account(backend: Backend) -> Iterator[Account]:
    import torch

    yield Account(
        now=lambda: torch.cuda.memory_allocated(backend.device),
        peak=lambda: torch.cuda.max_memory_allocated(backend.device),
        reset=lambda: torch.cuda.reset_peak_memory_stats(backend.device),
    )
