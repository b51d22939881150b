"""Composite Gauss-Legendre quadrature: panels, their nodes and weights, and integrals up to each node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

Array = NDArray[np.float64]

NODES = 12  # of each panel


def count_panels(edges: Sequence[float], width: float) -> int:
    """Number of panels that `cut` makes."""
    return int(_parts(edges, width).sum())


def cut(edges: Sequence[float], width: float) -> Array:
    """`edges` with every interval between two of them cut into equal parts no wider than `width`."""
    parts = _parts(edges, width)
    starts = np.cumsum(parts) - parts  # each interval's first panel
    within = np.arange(parts.sum()) - np.repeat(starts, parts)
    inner = np.repeat(edges[:-1], parts) + within * np.repeat(np.diff(edges) / parts, parts)
    return np.append(inner, edges[-1])


def panel_nodes(edges: Array) -> tuple[Array, Array]:
    """Nodes and quadrature weights of all panels between `edges`, in order, both of shape (node,)."""
    x, weights, _ = _legendre()
    half_widths = np.diff(edges)[:, None] / 2.0
    nodes = edges[:-1, None] + half_widths * (x + 1.0)
    return nodes.ravel(), (half_widths * weights).ravel()


def cumulate(values: Array, edges: Array) -> Array:
    """Integrals of samples at the nodes, shape (row, node), from edges[0] to each node; the same shape."""
    _, weights, integration = _legendre()
    half_widths = np.diff(edges) / 2.0
    panels = values.reshape(-1, NODES)
    totals = (panels @ weights).reshape(len(values), -1) * half_widths
    within = (panels @ integration.T).reshape(*totals.shape, NODES)
    within *= half_widths[:, None]
    within += (np.cumsum(totals, axis=1) - totals)[:, :, None]
    return within.reshape(values.shape)


def _parts(edges: Sequence[float], width: float) -> NDArray[np.int64]:
    return np.maximum(np.ceil(np.diff(edges) / width), 1).astype(int)


@lru_cache
def _legendre() -> tuple[Array, Array, Array]:
    """Nodes and weights on [-1, 1], and the matrix that integrates from -1 to each node.

    The interpolating polynomial of samples f is the sum over k of P_k (k + 1/2) sum_j w_j P_k(x_j) f_j, and
    the antiderivative of P_k that vanishes at -1 is (P_{k+1} - P_{k-1}) / (2k + 1).
    """
    x, weights = legendre.leggauss(NODES)
    polynomials = legendre.legvander(x, NODES)
    degrees = np.arange(1, NODES)
    antiderivatives = np.empty((NODES, NODES))
    antiderivatives[:, 0] = x + 1.0
    antiderivatives[:, 1:] = (polynomials[:, 2:] - polynomials[:, :-2]) / (2 * degrees + 1)
    coefficients = (np.arange(NODES)[:, None] + 0.5) * polynomials[:, :NODES].T * weights
    return x, weights, antiderivatives @ coefficients
