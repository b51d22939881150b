"""Probability that a softmax row of independent Gaussian scores is closed: its largest weight beyond x >= 1/2.

No two weights exceed 1/2, so the probability is T P(a_1 > x), and a_1 > x means that the sum of exp(s_j) over
the other keys stays below c exp(s_1), c = 1/x - 1. Inverting the Laplace transform of that sum and taking
the mean over s_1 gives, with phi(u) = E[exp(-exp(u + s))],

    P(a_1 > x) = 1 / (2 pi i) int phi(u)^(T-1) phi(u + log c - i pi) du

along u = xi + i theta from xi = -inf to +inf, 0 < theta < pi, and back along the conjugate line. The same
integral with phi(u)^T vanishes, since that path can be closed at +inf. Their difference needs no care at
xi = -inf, where both second factors tend to 1, and nothing cancels any more:

    P(largest a > x) = T / pi int Im[phi(u)^(T-1) (phi(u + log c - i pi) - phi(u))] dxi

At theta = pi/2 this is the inversion of a characteristic function (Gil-Pelaez, Biometrika 38, 1951); further
in, phi(u)^(T-1) falls faster. phi is continued beyond |theta| = pi/2 by moving the path of the normal
variable off the real line.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, ndtr

from attention_scaling.theory.gaussian_scores import (
    PANEL,
    WINDOW,
    ScoreGroup,
    normal_shape,
    starting_step,
    u_nodes,
)
from attention_scaling.theory.panels import cut, panel_nodes
from attention_scaling.theory.trapezoid import trapezoid

_NEGLIGIBLE = 1e-13
_TOLERANCE = 1e-10  # absolute
_HALVINGS = 4
_ROUNDING = 1e-15
# Below this standard deviation phi is summed over the score, above it over the window of w = u + score.
_NARROW = 1.0
_NARROW_NODES = np.linspace(-10.0, 10.0, 161)


def closed_share(n_keys: int, score_std: float, threshold: float) -> tuple[float, float]:
    """P(largest of n_keys >= 2 weights > threshold), 1/2 <= threshold < 1, and its absolute error."""
    if n_keys == 2:
        # The winner is ahead by log(x / (1 - x)) or more.
        margin = np.log(threshold / (1.0 - threshold))
        return float(2.0 * ndtr(-margin / (np.sqrt(2.0) * score_std))), _NEGLIGIBLE
    bound = _upper_bound(n_keys, score_std, threshold)
    if bound < _NEGLIGIBLE:
        return 0.0, bound

    others = (ScoreGroup(n_keys - 1, 0.0, score_std),)
    theta = 0.5 * np.pi - min(0.25 * np.pi, 1.5 * score_std)
    further = -np.log(np.cos(theta))  # |phi(xi + i theta)| <= phi(xi + log cos theta)
    log_odds = np.log(1.0 / threshold - 1.0)
    step = 0.5 * starting_step(others)  # the singularities are half as far away as on the real line
    for _ in range(_HALVINGS):
        xi, slopes = u_nodes(others, step, further)
        phi = laplace_transform(xi, theta, score_std)
        beyond = laplace_transform(xi + log_odds, theta - np.pi, score_std)
        closed = (phi ** (n_keys - 1) * (beyond - phi)).imag
        (value, angle), (error, _) = trapezoid(
            np.stack([closed, (phi**n_keys).imag]) * slopes, step
        )
        error *= n_keys / np.pi
        if error <= _TOLERANCE:
            break
        step /= 2.0
    # By the same closing of the path, the integral of Im phi^T is -theta; what it misses tells the errors of
    # phi and of the range. Rounding in phi comes back T times.
    error += abs(angle + theta) + n_keys * _ROUNDING
    return float(np.clip(n_keys / np.pi * value, 0.0, 1.0)), float(error)


def laplace_transform(
    xi: NDArray[np.float64], theta: float, score_std: float
) -> NDArray[np.complex128]:
    """phi(u) = E[exp(-exp(u + score_std z))], z standard normal, at u = xi + i theta; shape of xi.

    |theta| < pi; beyond pi/2 it is the analytic continuation, accurate while (|theta| - pi/2) / score_std
    stays below 2 or so.
    """
    if score_std < _NARROW:
        return _sum_over_scores(xi, theta, score_std)
    # exp(-(w - u)^2 / 2) with its complex factors taken out: only a real matrix is left.
    edges = cut(WINDOW, PANEL * score_std)
    w, weights = panel_nodes(edges)
    turn = theta / score_std**2
    density = normal_shape((w - xi[:, None]) / score_std) @ (
        weights * np.exp(-np.exp(w) + 1j * turn * w)
    )
    density *= np.exp(0.5 * theta * turn - 1j * turn * xi) / (score_std * np.sqrt(2.0 * np.pi))
    left = (edges[0] - xi - 1j * theta) / score_std
    return density + 0.5 * erfc(-left / np.sqrt(2.0))


def _sum_over_scores(
    xi: NDArray[np.float64], theta: float, score_std: float
) -> NDArray[np.complex128]:
    """`laplace_transform` by the trapezoidal rule along z = x - i shift, which turns exp(u + score) back."""
    x = _NARROW_NODES
    shift = np.sign(theta) * min(abs(theta) / score_std, 2.0)
    density = np.exp(-0.5 * (x - 1j * shift) ** 2) * ((x[1] - x[0]) / np.sqrt(2.0 * np.pi))
    # What is left of exp(-y) underflows before log |y| = 8.
    size = np.exp(np.minimum(xi[:, None] + score_std * x, 8.0))
    return np.exp(-np.exp(1j * (theta - score_std * shift)) * size) @ density


def _upper_bound(n_keys: int, score_std: float, threshold: float) -> float:
    """Upper bound of `closed_share`: the winner must be log((T - 1) / c) ahead of the others' mean."""
    ahead = np.log((n_keys - 1) / (1.0 / threshold - 1.0))
    spread = score_std * np.sqrt(1.0 + 1.0 / (n_keys - 1))
    return float(n_keys * ndtr(-ahead / spread))
