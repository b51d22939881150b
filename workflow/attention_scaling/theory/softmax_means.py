"""Exact means over softmax rows of random Gaussian queries and keys: no sampling error.

One query of d_k standard normal entries meets T keys of the same kind; its scores q.k_j are divided by 1,
sqrt(d_k) or d_k and go through softmax. Given q the scores are independent Gaussians of standard deviation
|q| / divisor (`gaussian_scores`, `closed_share`), and |q|^2 is chi-squared (`chi_mixture`). With `rho`, key 0
is rho q + sqrt(1 - rho^2) z: its score given q has mean rho |q|^2 / divisor and standard deviation
sqrt(1 - rho^2) |q| / divisor.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from attention_scaling.divisors import divisor_value
from attention_scaling.errors import UserError
from attention_scaling.theory.chi_mixture import mix_over_query
from attention_scaling.theory.closed_share import closed_share
from attention_scaling.theory.exact_value import ExactValue
from attention_scaling.theory.gaussian_scores import MEANS, ScoreGroup, row_means

Array = NDArray[np.float64]

# What can be asked for; units are 1, the entropy's nats.
QUANTITIES = (
    "top_weight",  # largest weight of the row
    "capacity",  # 1 - sum a^2, the trace of the Jacobian
    "top_derivative",  # a (1 - a) of the largest weight, the largest diagonal entry of the Jacobian
    "entropy",  # - sum a log a
    "aligned_weight",  # weight of key 0, the one that `rho` aligns with the query
    "closed_share",  # P(largest weight > threshold)
)
LARGEST_N_KEYS = 65_536
LARGEST_STD = 1024.0
LARGEST_RHO = 0.99
CLOSED_ABOVE = 0.9


def softmax_mean(
    quantity: str,
    n_keys: int,
    d_k: int,
    divisor: str = "none",
    *,
    rho: float = 0.0,
    threshold: float = CLOSED_ABOVE,
) -> ExactValue:
    """Mean of `quantity`, one of QUANTITIES, over random queries and keys of width d_k.

    `divisor` is none, root or width; `threshold` is that of closed_share. The error is an estimate from
    coarser sums and from identities: below 1e-8 of the value when all keys are independent, and below
    1e-8 absolute for closed_share and for whatever a strongly aligned key leaves over; refinement shows
    it to be cautious, mostly by orders of magnitude. A cell takes 0.03 to 0.5 s, which its quantities
    share; an aligned key makes that two to four times as long, and its top_derivative takes a pass of its own.

    Raises UserError outside the range: 1 <= n_keys <= 65,536; sqrt(d_k) / divisor <= 1024; |rho| <= 0.99,
    and 0 for closed_share; 1/2 <= threshold < 1; for an unknown name.
    """
    _check_quantity(quantity, threshold)
    _check_keys(n_keys)
    scale = divisor_value(divisor, d_k)  # which checks both
    _check_std(math.sqrt(d_k) / scale)
    if not -LARGEST_RHO <= rho <= LARGEST_RHO:
        raise UserError(f"rho = {rho}: exact softmax means: {-LARGEST_RHO} to {LARGEST_RHO}")
    if quantity == "closed_share":
        if rho != 0.0:
            raise UserError(
                f"rho = {rho}: exact closed_share: 0, all keys independent of the query"
            )
        return _closed_share(n_keys, d_k, divisor, float(threshold))
    # Rows without an aligned key serve many cells, and those all their quantities.
    with_derivative = rho == 0.0 or quantity == "top_derivative"
    return means_over_queries(n_keys, d_k, scale, float(rho), with_derivative)[quantity]


def softmax_mean_at(
    quantity: str, n_keys: int, score_std: float, *, threshold: float = CLOSED_ABOVE
) -> ExactValue:
    """Mean of `quantity` over rows of `n_keys` independent Gaussian scores of one standard deviation.

    The limit of `softmax_mean` for d_k to infinity at sqrt(d_k) / divisor = score_std; 0 gives the limit of
    small scores. Ranges and errors as there.
    """
    _check_quantity(quantity, threshold)
    _check_keys(n_keys)
    _check_std(score_std)
    if score_std == 0.0 or n_keys == 1:
        at_zero = _closed_share_at_zero(n_keys, threshold)
        return ExactValue({**_means_at_zero(n_keys), "closed_share": at_zero}[quantity], 0.0)
    if quantity == "closed_share":
        return ExactValue(*closed_share(n_keys, score_std, threshold))
    values, errors = _plain_row(n_keys, float(score_std))
    index = tuple(_means_at_zero(n_keys)).index(quantity)
    return ExactValue(float(values[index]), float(errors[index]))


def clear_caches() -> None:
    """Forget every cell and node that was computed, as a measurement of time needs."""
    for cached in (
        means_over_queries,
        _closed_share,
        _plain_row,
        _aligned_row,
        _plain_closed_share,
    ):
        cached.cache_clear()


# The name that functools gives it; no single cache would do.
softmax_mean.cache_clear = clear_caches


@lru_cache(maxsize=4096)
def means_over_queries(
    n_keys: int, d_k: int, scale: float, rho: float, with_derivative: bool
) -> dict[str, ExactValue]:
    """All that one quadrature gives, at any divisor `scale`: QUANTITIES but for closed_share.

    top_derivative is among them only `with_derivative`, for it takes half as long again. Ranges are those of
    `softmax_mean`, unchecked.
    """
    at_zero = _means_at_zero(n_keys)
    if not with_derivative:
        del at_zero["top_derivative"]
    if n_keys == 1:
        return {quantity: ExactValue(value, 0.0) for quantity, value in at_zero.items()}
    wanted = slice(len(at_zero))

    def given_query(std: float) -> tuple[Array, Array]:
        if rho == 0.0:
            values, errors = _plain_row(n_keys, std)
            return values[wanted], errors[wanted]
        aligned_std = math.sqrt(1.0 - rho**2) * std
        return _aligned_row(n_keys, std, rho * scale * std**2, aligned_std, MEANS[wanted])

    # Weights move with the scores: about their spread, and the mean of the aligned one.
    slope = 8.0 * (1.0 + abs(rho) * math.sqrt(d_k))
    means, errors = mix_over_query(given_query, d_k, scale, np.array(list(at_zero.values())), slope)
    return {
        # Nothing here can be negative, but rounding can leave -1e-16 of a capacity that vanishes.
        quantity: ExactValue(max(float(mean), 0.0), float(error))
        for quantity, mean, error in zip(at_zero, means, errors, strict=True)
    }


@lru_cache(maxsize=4096)
def _closed_share(n_keys: int, d_k: int, divisor: str, threshold: float) -> ExactValue:
    at_zero = _closed_share_at_zero(n_keys, threshold)
    if n_keys == 1:
        return ExactValue(at_zero, 0.0)

    def given_query(std: float) -> tuple[Array, Array]:
        value, error = _plain_closed_share(n_keys, std, threshold)
        return np.array([value]), np.array([error])

    scale = divisor_value(divisor, d_k)
    means, errors = mix_over_query(given_query, d_k, scale, np.array([at_zero]), 8.0)
    return ExactValue(float(means[0]), float(errors[0]))


# Cells of the same n_keys share nodes; these caches keep a study's worth of them, some 10 MB.
@lru_cache(maxsize=1 << 15)
def _plain_row(n_keys: int, std: float) -> tuple[Array, Array]:
    return row_means((ScoreGroup(n_keys, 0.0, std),))


@lru_cache(maxsize=1 << 15)
def _aligned_row(
    n_keys: int, std: float, mean: float, aligned_std: float, names: tuple[str, ...]
) -> tuple[Array, Array]:
    return row_means((ScoreGroup(1, mean, aligned_std), ScoreGroup(n_keys - 1, 0.0, std)), names)


@lru_cache(maxsize=1 << 15)
def _plain_closed_share(n_keys: int, std: float, threshold: float) -> tuple[float, float]:
    return closed_share(n_keys, std, threshold)


def _means_at_zero(n_keys: int) -> dict[str, float]:
    """Values for equal scores, in the order of gaussian_scores.MEANS, under the names of QUANTITIES."""
    share = 1.0 / n_keys
    return {
        "top_weight": share,
        "capacity": 1.0 - share,
        "entropy": math.log(n_keys),
        "aligned_weight": share,
        "top_derivative": share * (1.0 - share),
    }


def _closed_share_at_zero(n_keys: int, threshold: float) -> float:
    """Limit for small scores: only one key, or the winner of two at 1/2, is beyond the threshold."""
    return 1.0 if n_keys == 1 or (n_keys == 2 and threshold == 0.5) else 0.0


def _check_quantity(quantity: str, threshold: float) -> None:
    if quantity not in QUANTITIES:
        raise UserError(
            f"quantity {quantity!r}: exact softmax means: one of {', '.join(QUANTITIES)}"
        )
    if not 0.5 <= threshold < 1.0:
        raise UserError(f"threshold = {threshold}: exact closed_share: from 0.5 to below 1")


def _check_keys(n_keys: int) -> None:
    if not 1 <= n_keys <= LARGEST_N_KEYS:
        raise UserError(f"n_keys = {n_keys}: exact softmax means: 1 to {LARGEST_N_KEYS}")


def _check_std(std: float) -> None:
    if not 0.0 <= std <= LARGEST_STD:
        raise UserError(
            f"standard deviation {std:g} of the scores: exact softmax means: 0 to {LARGEST_STD:g}"
        )
