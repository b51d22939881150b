"""Sharp bounds on softmax weights and on their derivatives."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from attention_scaling.errors import UserError

# a (1 - a), the derivative of a weight with respect to its own score, is largest at a = 1/2.
LARGEST_DERIVATIVE = 0.25


def winner_weight(margin: float, n_keys: int) -> float:
    """Least weight of a winner that is at least `margin` (nats) ahead of each of n_keys - 1 others.

    exp(m) / (exp(m) + T - 1), written so that no exponential overflows. `winner_scores` attains it.
    Raises UserError for n_keys < 1.
    """
    _check_keys(n_keys)
    if margin >= 0:
        return 1.0 / (1.0 + (n_keys - 1) * math.exp(-margin))
    ahead = math.exp(margin)
    return ahead / (ahead + n_keys - 1)


def winner_scores(margin: float, n_keys: int) -> NDArray[np.float64]:
    """The row, shape (n_keys,), that attains `winner_weight`: all others tie, `margin` behind key 0."""
    _check_keys(n_keys)
    scores = np.zeros(n_keys)
    scores[0] = margin
    return scores


def largest_capacity(n_keys: int) -> float:
    """Largest 1 - sum a^2 of a row of `n_keys` weights: 1 - 1/T, attained by equal weights.

    By Cauchy-Schwarz, sum a^2 >= (sum a)^2 / T. It is the trace of the Jacobian diag(a) - a a^T.
    """
    _check_keys(n_keys)
    return 1.0 - 1.0 / n_keys


def _check_keys(n_keys: int) -> None:
    if n_keys < 1:
        raise UserError(f"n_keys = {n_keys}: number of keys: a whole number from 1")
