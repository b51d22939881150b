"""What the tests of attention share: an independent formula, the versions under test, and random problems."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from attention_scaling import attention, tiled

SMALL_BLOCK = (3, 2)
"""Blocks that split even the small problems here, with a rest on both sides."""


def plain_version(Q, K, V, dO, **options) -> tuple:
    """O, dQ, dK, dV by `attention`."""
    output = attention.scaled_dot_product_attention(Q, K, V, **options)
    return output, *attention.attention_backward(Q, K, V, dO, **options)


def tiled_version(Q, K, V, dO, *, block=SMALL_BLOCK, **options) -> tuple:
    """O, dQ, dK, dV by `tiled`."""
    output, kept = tiled.tiled_attention(Q, K, V, block=block, **options)
    return output, *tiled.tiled_attention_backward(Q, K, V, dO, kept, block=block, **options)


VERSIONS: dict[str, Callable[..., tuple]] = {"plain": plain_version, "tiled": tiled_version}


@dataclass(frozen=True)
class Problem:
    """One attention call as float64 NumPy arrays."""

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    dO: np.ndarray  # noqa: N815 (the name that attention_backward gives it)
    mask: np.ndarray | None = None
    causal: bool = False
    scale: float | None = None

    def on(self, backend: Any, dtype: str = "float64") -> tuple[list[Any], dict[str, Any]]:
        """The arrays Q, K, V, dO and the options on a backend."""
        arrays = [backend.asarray(array, dtype) for array in (self.Q, self.K, self.V, self.dO)]
        options: dict[str, Any] = {"causal": self.causal, "scale": self.scale}
        if self.mask is not None:
            kind = "bool" if self.mask.dtype == bool else dtype
            options["mask"] = backend.asarray(self.mask, kind)
        return arrays, options

    @property
    def added(self) -> np.ndarray:
        """What mask and causal rule add to the scores: an array of (..., T_q, T_k) of 0, numbers and -inf."""
        shape = (*self.Q.shape[:-1], self.K.shape[-2])
        added = np.zeros(shape)
        if self.mask is not None:
            added = added + (
                np.where(self.mask, 0.0, -np.inf) if self.mask.dtype == bool else self.mask
            )
        if self.causal:
            for i in range(shape[-2]):
                added[..., i, i + 1 :] = -np.inf
        return added


def formula(problem: Problem, Q=None, K=None, V=None) -> np.ndarray:
    """The output by the definition, sum by sum, in float64 or, for complex arguments, complex128.

    Exponentials are shifted by the real part of the largest score, a constant that cancels, so that this holds
    at any size of scores. Q, K, V replace those of the problem.
    """
    Q, K, V = (
        given if given is not None else own
        for given, own in zip((Q, K, V), (problem.Q, problem.K, problem.V), strict=True)
    )
    scale = 1 / math.sqrt(Q.shape[-1]) if problem.scale is None else problem.scale
    scores = scale * np.einsum("...im,...jm->...ij", Q, K) + problem.added
    seen = ~np.isneginf(problem.added)
    peak = np.max(np.where(seen, scores.real, -np.inf), axis=-1, keepdims=True)
    exponentials = np.exp(np.where(seen, scores, 0) - np.where(np.isneginf(peak), 0, peak)) * seen
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
    return np.einsum("...ij,...jk->...ik", weights, V)


def derivative(problem: Problem, name: str, direction: np.ndarray) -> float:
    """The derivative of sum(dO * O) along `direction` in Q, K or V, exact to rounding.

    Complex step: Im f(x + i h d) / h has no difference to cancel, so h may be as small as it likes (Squire and
    Trapp, "Using complex variables to estimate derivatives of real functions", 1998).
    """
    step = 1e-20
    moved = getattr(problem, name) + 1j * step * direction
    return float(np.sum(problem.dO * formula(problem, **{name: moved}).imag) / step)


def gradients(problem: Problem) -> dict[str, np.ndarray]:
    """dQ, dK and dV, entry by entry by `derivative`."""
    found = {}
    for name in ("Q", "K", "V"):
        gradient = np.empty(getattr(problem, name).shape)
        for index in np.ndindex(gradient.shape):
            direction = np.zeros(gradient.shape)
            direction[index] = 1.0
            gradient[index] = derivative(problem, name, direction)
        found[name] = gradient
    return found


@st.composite
def problems(draw, max_length: int = 7, max_width: int = 5) -> Problem:
    """Small problems: any leading dimensions, T_q != T_k, d_v != d_k, masks of every kind, unseeing rows."""
    lead = draw(st.sampled_from([(), (2,), (2, 3), (1, 2)]))
    n_queries, n_keys = draw(st.integers(1, max_length)), draw(st.integers(1, max_length))
    d_k, d_v = draw(st.integers(1, max_width)), draw(st.integers(1, max_width))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.sampled_from([1e-3, 1.0, 3.0]))
    mask = None
    kind = draw(st.sampled_from(["none", "boolean", "additive"]))
    if kind != "none":
        mask_lead = draw(st.sampled_from([(), lead, (1,) * len(lead)]))
        shape = (*mask_lead, draw(st.sampled_from([1, n_queries])), n_keys)
        seen = rng.random(shape) < draw(st.sampled_from([0.2, 0.7, 1.0]))
        mask = seen if kind == "boolean" else np.where(seen, rng.normal(size=shape), -np.inf)
    return Problem(
        Q=size * rng.normal(size=(*lead, n_queries, d_k)),
        K=rng.normal(size=(*lead, n_keys, d_k)),
        V=rng.normal(size=(*lead, n_keys, d_v)),
        dO=rng.normal(size=(*lead, n_queries, d_v)),
        mask=mask,
        causal=draw(st.booleans()),
        scale=draw(st.sampled_from([None, 1.0, 0.3, -0.5])),
    )
