"""The score of a key and a row of random signs, exactly: every row counted, or the binomial law.

A score of d_k sign products is e = sum of s_m k_m with s_m, k_m = +1 or -1. With the key fixed and the row
uniform over all 2^d_k rows, the number of agreements is binomial (d_k, 1/2), whatever the key is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from attention_scaling.errors import UserError

LARGEST_ENUMERATED = 20
_ROWS_PER_BLOCK = 1 << 15


@dataclass(frozen=True)
class SignMoments:
    """Exact moments of a score of signs.

    `mean`, `square_mean` and `fourth_mean` are E[e], E[e^2] and E[e^4]; `cross_term_max` is the largest
    |E[s_m s_n]| over the positions m != n, 0 when d_k = 1; `rows` is the number of equally likely rows.
    """

    d_k: int
    rows: int
    mean: Fraction
    square_mean: Fraction
    fourth_mean: Fraction
    cross_term_max: Fraction


def enumerate_signs(d_k: int, key: Sequence[int] | None = None) -> SignMoments:
    """Count all 2^d_k rows of signs against one key of signs (all +1 unless given).

    Everything is summed in whole numbers: the matrix products run in float64, where whole numbers below
    2^53 are exact. Raises UserError unless 1 <= d_k <= 20 and `key` has d_k entries, each +1 or -1.
    """
    if not 1 <= d_k <= LARGEST_ENUMERATED:
        raise UserError(f"d_k = {d_k}: enumeration of signs: 1 to {LARGEST_ENUMERATED}")
    fixed = np.ones(d_k) if key is None else np.asarray(key, dtype=float)
    if fixed.shape != (d_k,) or not np.all(np.abs(fixed) == 1.0):
        raise UserError(f"key {key!r}: enumeration of signs: {d_k} entries, each +1 or -1")

    counts = np.zeros(2 * d_k + 1, dtype=np.int64)  # of the rows whose score is index - d_k
    products = np.zeros((d_k, d_k))  # sums of s_m s_n over the rows
    for rows in _sign_rows(d_k):
        scores = (rows @ fixed).astype(np.int64)
        counts += np.bincount(scores + d_k, minlength=2 * d_k + 1)
        products += rows.T @ rows
    cross_terms = products[~np.eye(d_k, dtype=bool)]
    largest = int(np.abs(cross_terms).max(initial=0.0))
    law = ((score, int(counts[score + d_k])) for score in range(-d_k, d_k + 1))
    return _moments(d_k, law, Fraction(largest, 1 << d_k))


def binomial_signs(d_k: int) -> SignMoments:
    """The same moments from the binomial law of agreements, in exact integers, for any d_k >= 1.

    The score of A agreements is 2 A - d_k. The terms s_m k_m are exchangeable, so all cross terms equal
    (E[e^2] - d_k) / (d_k (d_k - 1)). Raises UserError for d_k < 1.
    """
    if d_k < 1:
        raise UserError(f"d_k = {d_k}: binomial law of signs: a whole number from 1")
    moments = _moments(d_k, _binomial_law(d_k), Fraction(0))
    if d_k == 1:
        return moments
    cross_term = abs(moments.square_mean - d_k) / (d_k * (d_k - 1))
    return replace(moments, cross_term_max=cross_term)


def _sign_rows(d_k: int) -> Iterator[NDArray[np.float64]]:
    """All rows of d_k signs, in blocks of shape (rows, d_k): the binary digits of 0 to 2^d_k - 1."""
    positions = np.arange(d_k)
    for start in range(0, 1 << d_k, _ROWS_PER_BLOCK):
        numbers = np.arange(start, min(start + _ROWS_PER_BLOCK, 1 << d_k))
        yield 2.0 * ((numbers[:, None] >> positions) & 1) - 1.0


def _binomial_law(d_k: int) -> Iterator[tuple[int, int]]:
    """(score, number of rows with that score), from d_k disagreements to d_k agreements."""
    rows = 1
    for agreements in range(d_k + 1):
        yield 2 * agreements - d_k, rows
        rows = rows * (d_k - agreements) // (agreements + 1)


def _moments(d_k: int, law: Iterable[tuple[int, int]], cross_term_max: Fraction) -> SignMoments:
    total = first = second = fourth = 0
    for score, rows in law:
        total += rows
        first += rows * score
        second += rows * score**2
        fourth += rows * score**4
    return SignMoments(
        d_k=d_k,
        rows=total,
        mean=Fraction(first, total),
        square_mean=Fraction(second, total),
        fourth_mean=Fraction(fourth, total),
        cross_term_max=cross_term_max,
    )
