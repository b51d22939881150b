"""Facts about attention as a whole: its hand-derived gradients, its blocks, PyTorch's own function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attention_scaling.attention import (
    attention_backward,
    scaled_dot_product_attention,
)
from attention_scaling.backends import Array, Backend
from attention_scaling.experiments.identity_rows import (
    derivative_method,
    identity,
    jacobian,
    largest,
    plain_softmax,
)
from attention_scaling.measurement import Measurement
from attention_scaling.tiled import tiled_attention, tiled_attention_backward

QUANTITIES = {
    "backward_error": "largest error of a hand-derived gradient against the derivative of a loss",
    "backward_difference": "largest difference of a hand-derived gradient from finite differences",
    "output_sum_error": "largest difference between dO_i . O_i and row i's sum of dA * A",
    "masked_gradient": "largest gradient at the key and value of a masked position",
    "tiled_error": "largest difference between attention in blocks and whole, output or gradient",
    "library_error": "largest difference of PyTorch's own kernel, output or gradient",
    "forward_products": "matrix products of the forward pass, counted by their arithmetic",
    "backward_products": "matrix products of the backward pass, counted by their arithmetic",
    "folded_error": "largest change of the output when 1/sqrt(d_k) moves into the queries",
}

SHAPE = {"queries": 5, "keys": 7, "d_k": 6, "d_v": 4}
COUNTED = 64


def measure(settings: object, backend: Backend, rng: np.random.Generator) -> Iterator[Measurement]:
    """All facts on one small set of matrices; those about PyTorch on PyTorch alone."""
    Q, K, V, dO = (
        backend.asarray(rng.normal(size=size))
        for size in (
            (SHAPE["queries"], SHAPE["d_k"]),
            (SHAPE["keys"], SHAPE["d_k"]),
            (SHAPE["keys"], SHAPE["d_v"]),
            (SHAPE["queries"], SHAPE["d_v"]),
        )
    )
    yield from _backward(backend, Q, K, V, dO)
    yield from _row_sums(backend, Q, K, V, dO)
    yield from _masked(backend, Q, K, V, dO)
    yield from _tiled(backend, Q, K, V, dO)
    scaled = scaled_dot_product_attention(Q, K, V)
    folded = scaled_dot_product_attention(Q / math.sqrt(SHAPE["d_k"]), K, V, scale=1.0)
    yield identity(backend, "folded_error", largest(backend, scaled - folded), theory=0.0)
    if backend.name == "torch":
        yield from _library(backend, rng)
        yield from _counted_products(backend)


def _loss(name: str, Q: Array, K: Array, V: Array, dO: Array) -> Callable[[Any, Array], Array]:
    """sum(dO * O) as a function of one of the matrices, from the definition of attention."""
    matrices = {"Q": Q, "K": K, "V": V}

    def loss(xp: Any, x: Array) -> Array:
        q, k, v = ((matrices | {name: x})[letter] for letter in "QKV")
        scores = xp.sum(q[:, None, :] * k[None, :, :], axis=-1) / math.sqrt(SHAPE["d_k"])
        weights = plain_softmax(xp, scores)
        return xp.sum(dO * xp.sum(weights[:, :, None] * v[None, :, :], axis=1))

    return loss


def _backward(backend: Backend, Q: Array, K: Array, V: Array, dO: Array) -> Iterator[Measurement]:
    gradients = dict(zip("QKV", attention_backward(Q, K, V, dO), strict=True))
    for name, matrix in (("Q", Q), ("K", K), ("V", V)):
        loss = _loss(name, Q, K, V, dO)
        error = largest(backend, jacobian(backend, loss, matrix) - gradients[name])
        method = derivative_method(backend)
        yield identity(
            backend, "backward_error", error, variant=f"d{name}", method=method, theory=0.0
        )
        step, point = 1e-5, backend.to_numpy(matrix)
        differences = np.empty(point.shape)
        for index in np.ndindex(point.shape):
            shift = np.zeros(point.shape)
            shift[index] = step
            ahead, behind = (backend.asarray(point + sign * shift) for sign in (1, -1))
            change = loss(backend.xp, ahead) - loss(backend.xp, behind)
            differences[index] = float(change) / (2 * step)
        error = np.abs(differences - backend.to_numpy(gradients[name])).max()
        yield identity(backend, "backward_difference", error, variant=f"d{name}", theory=0.0)


def _row_sums(backend: Backend, Q: Array, K: Array, V: Array, dO: Array) -> Iterator[Measurement]:
    xp = backend.xp
    output, weights = scaled_dot_product_attention(Q, K, V, return_weights=True)
    by_weights = xp.sum(xp.matmul(dO, V.T) * weights, axis=1)
    error = largest(backend, xp.sum(dO * output, axis=1) - by_weights)
    yield identity(backend, "output_sum_error", error, theory=0.0)


def _masked(backend: Backend, Q: Array, K: Array, V: Array, dO: Array) -> Iterator[Measurement]:
    """The last key is masked for every query: nothing may reach it or its value."""
    visible = np.ones((SHAPE["queries"], SHAPE["keys"]), dtype=bool)
    visible[:, -1] = False
    mask = backend.xp.asarray(visible, device=backend.device)
    _, dK, dV = attention_backward(Q, K, V, dO, mask=mask)
    reached = max(largest(backend, dK[-1, :]), largest(backend, dV[-1, :]))
    yield identity(backend, "masked_gradient", reached, theory=0.0)


def _tiled(backend: Backend, Q: Array, K: Array, V: Array, dO: Array) -> Iterator[Measurement]:
    block = (2, 3)
    output, kept = tiled_attention(Q, K, V, block=block)
    gradients = tiled_attention_backward(Q, K, V, dO, kept, block=block)
    whole = scaled_dot_product_attention(Q, K, V), *attention_backward(Q, K, V, dO)
    for name, tiled, reference in zip(
        ("O", "dQ", "dK", "dV"), (output, *gradients), whole, strict=True
    ):
        error = largest(backend, tiled - reference)
        yield identity(backend, "tiled_error", error, variant=name, theory=0.0)


def _library(backend: Backend, rng: np.random.Generator) -> Iterator[Measurement]:
    """PyTorch's scaled_dot_product_attention, kernel by kernel, and its gradients by autograd.

    Queries, keys and values have one width here: fused kernels take no other.
    """
    from attention_scaling.torch_kernels import KERNELS, run_kernel

    Q, K, V, dO = (
        backend.asarray(rng.normal(size=(positions, SHAPE["d_k"])))
        for positions in (SHAPE["queries"], SHAPE["keys"], SHAPE["keys"], SHAPE["queries"])
    )
    ours = scaled_dot_product_attention(Q, K, V), *attention_backward(Q, K, V, dO)
    for kernel in KERNELS:
        result = run_kernel(kernel, Q, K, V, dO)
        for place, name in enumerate(("O", "dQ", "dK", "dV")):
            labels = {"cell": kernel, "variant": name, "method": "autograd"}
            if result.unavailable:
                row = identity(backend, "library_error", 0.0, **labels)
                yield Measurement(**vars(row) | {"value": None, "skipped": result.unavailable})
                continue
            theirs = (result.output, *result.gradients)[place]
            error = largest(backend, theirs - ours[place])
            yield identity(backend, "library_error", error, theory=0.0, **labels)


def _counted_products(backend: Backend) -> Iterator[Measurement]:
    """Arithmetic of the matrix products, as PyTorch counts the products that really run."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    Q, K, V, dO = (backend.asarray(np.full((COUNTED, COUNTED), 0.1)) for _ in range(4))
    with FlopCounterMode(display=False) as forward:
        _, weights = scaled_dot_product_attention(Q, K, V, return_weights=True)
    with FlopCounterMode(display=False) as backward:
        attention_backward(Q, K, V, dO, weights=weights)
    for quantity, counter, products in (
        ("forward_products", forward, 2.0),
        ("backward_products", backward, 4.0),
    ):
        flops = counter.get_flop_counts()["Global"][torch.ops.aten.mm]
        yield identity(
            backend,
            quantity,
            flops / (2 * COUNTED**3),
            method="counted",
            d_k=COUNTED,
            n_keys=COUNTED,
            theory=products,
        )
