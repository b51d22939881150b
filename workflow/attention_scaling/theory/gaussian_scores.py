"""Means over softmax rows of independent Gaussian scores, at fixed means and standard deviations.

With S = sum of exp(s_j), the weights are a_j = exp(s_j) / S, and 1/S and 1/S^2 are the integrals of
exp(-t S) and t exp(-t S) over t > 0. Those factor over the positions. In u = log t, writing w = u + s for a
score s and y = exp(w), everything is built from three transforms of one Gaussian score:

    phi(u) = E[exp(-y)]     psi(u) = E[y exp(-y)] = -phi'(u)     chi(u) = E[y (-gamma - w) exp(-y)]

For T equal keys, all integrals over the whole line of u:

    sum of weights   T int psi phi^(T-1)              (= 1, a check)
    1 - sum a^2      T (T-1) int psi^2 phi^(T-2)      (sum over pairs of a_j a_k, so nothing cancels)
    entropy, nats    T int chi phi^(T-1)              (-d/dp of sum a^p at p = 1)

For the largest weight, condition on the top score x and cut the others off there. With C(u, x) and D(u, x)
the parts of phi and psi that come from scores below x, and f dx, y f dx their increments,

    largest a        T     int int y f C^(T-1) dx du
    its a (1 - a)    T (T-1) int int y f D C^(T-2) dx du

Unequal keys replace powers by products. The integrand in u is analytic and vanishes at both ends, so the
trapezoidal rule converges geometrically; the partial integrals over the score are Gauss-Legendre panels.
u has a meaning too: -u is distributed as the largest of s_j + Gumbel noise, which bounds its range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from attention_scaling.theory.panels import count_panels, cumulate, cut, panel_nodes
from attention_scaling.theory.trapezoid import ROUNDING, trapezoid

Array = NDArray[np.float64]

# The order of the means that `row_means` returns.
MEANS = ("top_weight", "capacity", "top_derivative", "entropy", "first_weight")

# Edges in w between which y exp(-y) matters, as close as its double exponential asks for: exp(-y) is 1 to
# 4e-18 below the first, and y exp(-y) is below 1e-22 above the last.
WINDOW = (-40.0, -26.0, -16.0, -9.0, -4.5, -1.5, 0.3, 1.5, 2.5, 3.3, 4.0)
PANEL = 2.2  # widest panel, in standard deviations and in w

_TAIL = 1e-13  # probability left out at either end of u
_LARGEST_NORMAL = 10.0  # a standard normal is beyond it with probability 1e-23
_TINY = np.finfo(float).tiny
_TOLERANCE = 1e-9  # relative, and of 1e-4 for what is smaller than that
_HALVINGS = 3
_PANEL_ERROR = 1e-12  # relative


@dataclass(frozen=True)
class ScoreGroup:
    """`count` independent Gaussian scores with the same mean and standard deviation (nats)."""

    count: int
    mean: float
    std: float


@dataclass(frozen=True)
class _Table:
    """What the integrands need, on the panels between `edges`.

    w = u + score is `w_offset` (u,) + `position` (node,), `y` = exp(w) of shape (u, node) or (1, node);
    `weights` (node,) are the quadrature weights; `increments` (u, node) holds f of each group, `below` (u,)
    each group's part of phi below the first panel.
    """

    edges: Array
    position: Array
    weights: Array
    w_offset: Array
    y: Array
    increments: tuple[Array, ...]
    below: tuple[Array, ...]


def row_means(groups: tuple[ScoreGroup, ...]) -> tuple[Array, Array]:
    """Means named in MEANS over a row made of `groups`, and their absolute error estimates.

    `first_weight` is the mean weight of one key of the first group. At least two keys in all; every
    standard deviation positive.
    """
    first, last = u_range(groups)
    step = starting_step(groups)
    for _ in range(_HALVINGS):
        u = step * np.arange(np.floor(first / step), np.ceil(last / step) + 1)
        values, errors = trapezoid(np.stack(_integrands(groups, _tabulate(groups, u))), step)
        if np.all(errors <= _TOLERANCE * np.maximum(np.abs(values), 1e-4)):
            break
        step /= 2.0
    # The weights sum to 1; what they miss tells the errors of panels, range and rounding, about.
    missed = 2.0 * abs(values[-1] - 1.0) + _PANEL_ERROR
    return values[:-1], errors[:-1] + missed * np.abs(values[:-1]) + ROUNDING


def u_range(groups: tuple[ScoreGroup, ...]) -> tuple[float, float]:
    """Range of u outside which every integrand is negligible.

    -u is the largest of the scores plus Gumbel noise; it lies outside with probability below 2e-13.
    """
    keys = sum(group.count for group in groups)
    # Largest: some key has score plus noise above z + g, so its score is above z or its noise above g.
    tail = 0.5 * _TAIL / keys
    largest = max(g.mean - g.std * ndtri(tail) for g in groups) - np.log(tail)
    # Smallest: phi^count <= _TAIL already for one group. phi is at most P(normal < z) + exp(-exp(w at z)),
    # and its bound is split between the two.
    last = np.inf
    for group in groups:
        bound = _TAIL ** (1.0 / group.count)
        below = bound / (2.0 - bound)
        z = ndtri(below)
        last = min(last, np.log(-np.log(bound - below)) - group.mean - group.std * z)
    return -largest, float(last)


def starting_step(groups: tuple[ScoreGroup, ...]) -> float:
    """Step in u to begin with: exp(-exp(u)) sets it for small scores, the sharpest group for large ones."""
    return 0.28 * max(1.0, min(group.std / (1.5 * _sharpness(group)) for group in groups))


def _sharpness(group: ScoreGroup) -> float:
    """How much faster the n-th power of a normal distribution rises than the distribution itself.

    Its rise is near v = sqrt(2 log n) standard deviations, where the tail falls by e every 1 / v.
    """
    return max(1.0, np.sqrt(2.0 * np.log(group.count)) / 1.5)


def _integrands(groups: tuple[ScoreGroup, ...], table: _Table) -> tuple[Array, ...]:
    """The integrands over u, shape (u,) each: those of MEANS, then that of the sum of weights."""
    counts = [group.count for group in groups]
    partial_phi, partial_psi, phi, psi, chi = [], [], [], [], []
    for increment, below in zip(table.increments, table.below, strict=True):
        y_increment = increment * table.y
        cumulated, total = cumulate(increment, table.edges)
        # Where nothing is below yet, rounding can leave a negative trace.
        partial_phi.append(np.maximum(cumulated + below[:, None], _TINY))
        phi.append(total + below)
        cumulated, total = cumulate(y_increment, table.edges)
        partial_psi.append(cumulated)
        psi.append(total)
        position_mean = y_increment @ (table.position * table.weights)
        chi.append((-np.euler_gamma - table.w_offset) * total - position_mean)

    top = top_derivative = capacity = entropy = hazard = np.zeros(len(phi[0]))
    top_mass = np.prod([b**count for b, count in zip(table.below, counts, strict=True)], axis=0)
    for i, count in enumerate(counts):
        # A key of group i, given u: what the other keys contribute.
        others = count * _product(phi, counts, leave_out=i)
        entropy = entropy + chi[i] * others
        capacity = capacity + psi[i] * others * _ratio_sum(psi, phi, counts, leave_out=i)
        hazard = hazard + count * psi[i] / phi[i]
        # The same key on top, at each node.
        on_top = table.increments[i] * _product(partial_phi, counts, leave_out=i)
        top_mass = top_mass + on_top @ (count * table.weights)
        on_top *= table.y
        top = top + on_top @ (count * table.weights)
        on_top *= _ratio_sum(partial_psi, partial_phi, counts, leave_out=i)
        top_derivative = top_derivative + on_top @ (count * table.weights)
    first_weight = psi[0] * _product(phi, counts, leave_out=0)
    # The sum of weights is the integral of hazard times the product of all phi. That product is also its
    # part below the first panel plus the integral over the top score of f C^(T-1): the panels' own test.
    return top, capacity, top_derivative, entropy, first_weight, hazard * top_mass


def _product(factors: list[Array], counts: list[int], leave_out: int) -> Array:
    """Product of the positive factors of all keys but one of group `leave_out`."""
    product = np.ones(())
    for j, (factor, count) in enumerate(zip(factors, counts, strict=True)):
        keys = count - 1 if j == leave_out else count
        if keys > 1:
            # Several times faster than a power where the result underflows.
            product = product * np.exp(keys * np.log(factor))
        elif keys == 1:
            product = product * factor
    return product


def _ratio_sum(parts: list[Array], wholes: list[Array], counts: list[int], leave_out: int) -> Array:
    """Sum over all keys but one of group `leave_out` of part / whole."""
    total = np.zeros(())
    for j, (part, whole, count) in enumerate(zip(parts, wholes, counts, strict=True)):
        keys = count - 1 if j == leave_out else count
        if keys:
            total = total + keys * (part / whole)
    return total


def _tabulate(groups: tuple[ScoreGroup, ...], u: Array) -> _Table:
    """The table on panels fixed in the score or fixed in w, whichever are fewer."""
    score_edges = _score_edges(groups)
    narrowest = min(PANEL * group.std / _sharpness(group) for group in groups)
    if len(score_edges) <= count_panels(WINDOW, narrowest):
        return _tabulate_over_scores(groups, u, score_edges)
    return _tabulate_over_window(groups, u, cut(WINDOW, narrowest))


def _score_edges(groups: tuple[ScoreGroup, ...]) -> Array:
    """Edges over all scores that matter: wide panels, and sharp ones where a large group has its top."""
    keys = sum(group.count for group in groups)
    highest = -ndtri(0.1 * _TAIL / keys)  # no key of the row is beyond it
    regions = []
    for group in groups:
        top = ndtri(_TAIL ** (1.0 / group.count))  # nor the largest of the group below this one
        for start, width in ((-_LARGEST_NORMAL, 1.0), (top, 1.0 / _sharpness(group))):
            ends = group.mean + group.std * start, group.mean + group.std * highest
            regions.append((*ends, PANEL * min(group.std * width, 1.0)))
    ends = np.unique([end for region in regions for end in region[:2]])
    edges = [ends[:1]]
    for left, right in zip(ends[:-1], ends[1:], strict=True):
        widths = [width for start, stop, width in regions if start < right and left < stop]
        edges.append(cut((left, right), min(widths, default=np.inf))[1:])
    return np.concatenate(edges)


def _tabulate_over_scores(groups: tuple[ScoreGroup, ...], u: Array, edges: Array) -> _Table:
    scores, weights = panel_nodes(edges)
    # exp(-y) is 0 in float64 well before y = exp(7).
    y = np.minimum(np.exp(u)[:, None] * np.exp(scores), np.exp(7.0))
    survival = np.exp(-y)
    increments = tuple(survival * _normal_density(scores, group) for group in groups)
    below = (np.zeros_like(u),) * len(groups)
    return _Table(edges, scores, weights, u, y, increments, below)


def _tabulate_over_window(groups: tuple[ScoreGroup, ...], u: Array, edges: Array) -> _Table:
    w, weights = panel_nodes(edges)
    y = np.exp(w)
    survival = np.exp(-y)
    scores = w - u[:, None]
    increments = tuple(survival * _normal_density(scores, group) for group in groups)
    below = tuple(ndtr((edges[0] - u - group.mean) / group.std) for group in groups)
    return _Table(edges, w, weights, np.zeros_like(u), y[None, :], increments, below)


def _normal_density(scores: Array, group: ScoreGroup) -> Array:
    z = (scores - group.mean) / group.std
    return np.exp(-0.5 * z**2) / (group.std * np.sqrt(2.0 * np.pi))
