"""Samplers of rows of scores q.k for Gaussian queries and keys, direct and collapsed.

Direct sampling draws the query and the keys: (n_keys + 1) d_k numbers for a row of n_keys scores. The same law
costs n_keys + 1 numbers: given the query, the scores are independent Gaussians of standard deviation |q|, and
|q|^2 is chi-squared with d_k degrees of freedom. Every sampler returns scores of shape (n_keys, rows), keys
first, so that what is taken over a row's keys (maximum, sum) runs along contiguous memory.
"""

from __future__ import annotations

import math

from attention_scaling.backends import Array, Backend, Draws

METHODS = ("direct", "collapsed")


def independent_keys(
    backend: Backend, draws: Draws, method: str, *, d_k: int, n_keys: int, rows: int
) -> Array:
    """Raw scores of `rows` queries, each against `n_keys` keys of its own; shape (n_keys, rows)."""
    if method == "direct":
        query, keys = _query_and_keys(backend, draws, d_k, n_keys, rows)
        return backend.xp.matmul(keys, query[:, :, None])[:, :, 0].T
    scores = draws.normal((n_keys, rows))
    scores *= backend.xp.sqrt(draws.chi_square(d_k, (rows,)))
    return scores


def aligned_keys(
    backend: Backend,
    draws: Draws,
    method: str,
    *,
    d_k: int,
    n_keys: int,
    rows: int,
    rho: float,
    aligned: int = 1,
) -> Array:
    """Raw scores where the first `aligned` keys are rho q + sqrt(1 - rho^2) z, the others independent of q.

    Shape (n_keys, rows). Collapsed, an aligned score is rho |q|^2 + sqrt(1 - rho^2) |q| z.
    """
    noise = math.sqrt(1 - rho * rho)
    if method == "direct":
        query, keys = _query_and_keys(backend, draws, d_k, n_keys, rows)
        keys[:, :aligned, :] *= noise
        keys[:, :aligned, :] += rho * query[:, None, :]
        return backend.xp.matmul(keys, query[:, :, None])[:, :, 0].T
    scores = draws.normal((n_keys, rows))
    square = draws.chi_square(d_k, (rows,))
    scores *= backend.xp.sqrt(square)
    scores[:aligned, :] *= noise
    scores[:aligned, :] += rho * square
    return scores


def shared_keys(
    backend: Backend, draws: Draws, method: str, *, d_k: int, n_keys: int, sets: int, queries: int
) -> Array:
    """Raw scores of `queries` queries against one set of keys, for `sets` sets; (n_keys, sets, queries).

    Collapsed, the keys K enter through K K^T alone, a Wishart matrix, whose triangular root L has Bartlett's
    decomposition (Bartlett 1933, "On the theory of statistical regression"): chi numbers with d_k - j degrees
    of freedom on the diagonal, Gaussians below it. A query's scores are then L z. With more keys than widths,
    L keeps its first d_k columns.
    """
    xp = backend.xp
    if method == "direct":
        keys = draws.normal((sets, n_keys, d_k))
        query = draws.normal((sets, d_k, queries))
        return xp.permute_dims(xp.matmul(keys, query), (1, 0, 2))
    columns = min(n_keys, d_k)
    root = xp.tril(draws.normal((sets, n_keys, columns)), k=-1)
    degrees = d_k - xp.arange(columns, dtype=xp.float64, device=backend.device)
    diagonal = xp.arange(columns, device=backend.device)
    root[:, diagonal, diagonal] = xp.sqrt(draws.chi_square(degrees, (sets, columns)))
    scores = xp.matmul(root, draws.normal((sets, columns, queries)))
    return xp.permute_dims(scores, (1, 0, 2))


def _query_and_keys(
    backend: Backend, draws: Draws, d_k: int, n_keys: int, rows: int
) -> tuple[Array, Array]:
    """Queries (rows, d_k) and each one's keys (rows, n_keys, d_k)."""
    return draws.normal((rows, d_k)), draws.normal((rows, n_keys, d_k))


def numbers_per_row(method: str, *, d_k: int, n_keys: int) -> int:
    """How many numbers a sampler with keys of each query's own holds for one row."""
    return (n_keys + 1) * d_k if method == "direct" else n_keys + 1
