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
u has a meaning too: -u is distributed as the largest of s_j + Gumbel noise, which bounds its range. To the left,
where only the noise is left, the integrands fall no faster than exp(u): a change of variable shortens that tail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, wrightomega

from attention_scaling.theory.panels import count_panels, cumulate, cut, panel_nodes
from attention_scaling.theory.trapezoid import ROUNDING, trapezoid

Array = NDArray[np.float64]

# What `row_means` can be asked for, the costly one last.
MEANS = ("top_weight", "capacity", "entropy", "first_weight", "top_derivative")
_SUM_OF_WEIGHTS = "sum_of_weights"

# Edges in w between which y exp(-y) matters, as close as its double exponential asks for: exp(-y) is 1 to
# 4e-18 below the first, and y exp(-y) is below 1e-22 above the last.
WINDOW = (-40.0, -26.0, -16.0, -9.0, -4.5, -1.5, 0.3, 1.5, 2.5, 3.3, 4.0)
PANEL = 2.2  # widest panel, in standard deviations and in w

_TAIL = 1e-13  # probability left out at either end of u
_RARE = 1e-2  # probability of the tail of u that is shortened
_LARGEST_NORMAL = 10.0  # a standard normal is beyond it with probability 1e-23
_LARGEST_Y = 700.0  # exp(-y) is nothing there, and further on a denormal number, which is slow
_FURTHEST = 37.0  # standard deviations, the same for the normal density
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
    """What the integrands need at some u, on the panels between `edges`.

    w = u + score is `w_offset` (u,) + `position` (node,), and y = exp(w) is `y_offset` (u,) times `y_position`
    (node,). `weights` (node,) are the quadrature weights; `increments` (u, node) holds f of each group, `below`
    (u,) each group's part of phi below the first panel.
    """

    edges: Array
    position: Array
    weights: Array
    y_position: Array
    w_offset: Array
    y_offset: Array
    increments: tuple[Array, ...]
    below: tuple[Array, ...]


def row_means(groups: Sequence[ScoreGroup], names: Sequence[str] = MEANS) -> tuple[Array, Array]:
    """Means over a row made of `groups`, in the order of `names`, and their absolute error estimates.

    `first_weight` is the mean weight of one key of the first group; top_derivative costs half as much again as
    all others. At least two keys in all; every standard deviation positive.
    """
    tabulate, edges = _panels(groups)
    step = starting_step(groups)
    for _ in range(_HALVINGS):
        u, slopes = u_nodes(groups, step)
        integrands = _integrands(groups, tabulate(groups, u, edges), "top_derivative" in names)
        terms = np.stack([integrands[name] for name in (*names, _SUM_OF_WEIGHTS)]) * slopes
        values, errors = trapezoid(terms, step)
        if np.all(errors <= _TOLERANCE * np.maximum(np.abs(values), 1e-4)):
            break
        step /= 2.0
    # The weights sum to 1; what they miss tells the errors of panels and range, about. Rounding in phi comes
    # back as often as there are keys.
    keys = sum(group.count for group in groups)
    missed = 2.0 * abs(values[-1] - 1.0) + _PANEL_ERROR + keys * np.finfo(float).eps
    return values[:-1], errors[:-1] + missed * np.abs(values[:-1]) + ROUNDING


def u_nodes(groups: Sequence[ScoreGroup], step: float, further: float = 0.0) -> tuple[Array, Array]:
    """Nodes `step` apart in v, over `u_range` with its end moved on by `further`: u, and du / dv.

    u is v where the integrands have their bulk, about. In the tail to the left, u = v - exp(-v), but for scale
    and origin: an integrand that falls like exp(u) falls double-exponentially in v (Takahasi and Mori, "Double
    exponential formulas for numerical integration", Publ. RIMS 9, 1974), and half as many nodes do.
    """
    stretch, origin = _stretch(groups), -_largest(groups, _RARE)
    # Wright's omega, which solves w + log w = z, gives v from u.
    first, last = (
        u + stretch * wrightomega((origin - u) / stretch)
        for u in np.add(u_range(groups), (0.0, further))
    )
    v = step * np.arange(np.floor(first / step), np.ceil(last / step) + 1)
    bend = np.exp((origin - v) / stretch)
    return v - stretch * bend, 1.0 + bend


def u_range(groups: Sequence[ScoreGroup]) -> tuple[float, float]:
    """Range of u outside which every integrand is negligible.

    -u is the largest of the scores plus Gumbel noise; it lies outside with probability below 2e-13.
    """
    # Smallest: phi^count <= _TAIL already for one group. phi is at most P(normal < z) + exp(-exp(w at z)),
    # and its bound is split between the two.
    last = np.inf
    for group in groups:
        bound = _TAIL ** (1.0 / group.count)
        below = bound / (2.0 - bound)
        z = ndtri(below)
        last = min(last, np.log(-np.log(bound - below)) - group.mean - group.std * z)
    return -_largest(groups, _TAIL), float(last)


def _largest(groups: Sequence[ScoreGroup], probability: float) -> float:
    """Bound that the largest of the scores plus Gumbel noise exceeds with at most this probability."""
    # Some key has score plus noise above z + g, so its score is above z or its noise above g.
    tail = 0.5 * probability / sum(group.count for group in groups)
    return max(g.mean - g.std * ndtri(tail) for g in groups) - np.log(tail)


def starting_step(groups: Sequence[ScoreGroup]) -> float:
    """Distance of the nodes to begin with."""
    return 0.28 * _stretch(groups)


def _stretch(groups: Sequence[ScoreGroup]) -> float:
    """Scale of the integrands in u: exp(-exp(u)) sets it for small scores, the sharpest group for large ones."""
    return max(1.0, min(group.std / (1.5 * _sharpness(group)) for group in groups))


def _sharpness(group: ScoreGroup) -> float:
    """How much faster the n-th power of a normal distribution rises than the distribution itself.

    Its rise is near v = sqrt(2 log n) standard deviations, where the tail falls by e every 1 / v.
    """
    return max(1.0, np.sqrt(2.0 * np.log(group.count)) / 1.5)


def _integrands(
    groups: Sequence[ScoreGroup], table: _Table, with_derivative: bool
) -> dict[str, Array]:
    """The integrands over u, shape (u,) each: those of MEANS, and that of the sum of weights."""
    counts = [group.count for group in groups]
    transforms = [
        _transforms(table, *parts) for parts in zip(table.increments, table.below, strict=True)
    ]
    phi, psi, chi = zip(*transforms, strict=True)
    capacity = entropy = hazard = 0.0
    for i, (count, others) in enumerate(zip(counts, _other_keys(phi, counts), strict=True)):
        # A key of group i, given u, and what the other keys contribute.
        entropy = entropy + count * chi[i] * others
        capacity = capacity + count * psi[i] * others * _ratio_sum(psi, phi, counts, leave_out=i)
        hazard = hazard + count * psi[i] / phi[i]
    first_weight = psi[0] * _other_keys(phi, counts)[0]
    tops = _Tops(counts, table)
    integrands = {
        "top_weight": tops.weight(),
        "capacity": capacity,
        "entropy": entropy,
        "first_weight": first_weight,
        # The integral of hazard times the product of all phi. That product is also the integral over the top
        # score: the panels' own test.
        _SUM_OF_WEIGHTS: hazard * tops.mass(),
    }
    if with_derivative:
        integrands["top_derivative"] = tops.derivative()
    return integrands


def _transforms(table: _Table, increments: Array, below: Array) -> tuple[Array, Array, Array]:
    """phi, psi and chi of a group, each of shape (u,)."""
    y_weights = table.weights * table.y_position
    sums = increments @ np.stack([table.weights, y_weights, table.position * y_weights], axis=1)
    psi, position_mean = table.y_offset * sums[:, 1], table.y_offset * sums[:, 2]
    return sums[:, 0] + below, psi, (-np.euler_gamma - table.w_offset) * psi - position_mean


class _Tops:
    """Integrals over the top score, each of shape (u,)."""

    def __init__(self, counts: Sequence[int], table: _Table) -> None:
        self._counts, self._table = counts, table
        self._y_weights = table.weights * table.y_position
        # Where nothing is below yet, rounding can leave a negative trace.
        self._phi = [
            np.maximum(cumulate(increments, table.edges) + below[:, None], _TINY)
            for increments, below in zip(table.increments, table.below, strict=True)
        ]
        # A key of each group on top, at each node.
        self._on_top = [
            count * increments * others
            for count, increments, others in zip(
                counts, table.increments, _other_keys(self._phi, counts), strict=True
            )
        ]

    def mass(self) -> Array:
        """The product of all phi: its part below the first panel, and the integral of f C^(T-1)."""
        below = zip(self._table.below, self._counts, strict=True)
        return np.prod([phi**count for phi, count in below], axis=0) + sum(
            on_top @ self._table.weights for on_top in self._on_top
        )

    def weight(self) -> Array:
        """Largest a."""
        return self._table.y_offset * sum(on_top @ self._y_weights for on_top in self._on_top)

    def derivative(self) -> Array:
        """Its a (1 - a)."""
        table = self._table
        psi = [
            cumulate(increments * table.y_position, table.edges) for increments in table.increments
        ]
        total = sum(
            (on_top * _ratio_sum(psi, self._phi, self._counts, leave_out=i)) @ self._y_weights
            for i, on_top in enumerate(self._on_top)
        )
        return table.y_offset**2 * total


def _other_keys(factors: Sequence[Array], counts: Sequence[int]) -> list[Array]:
    """For each group, the product of the positive factors of all keys but one of that group."""
    # Of every group, the keys but one are part of all these products.
    shared = np.ones(())
    for factor, count in zip(factors, counts, strict=True):
        if count > 1:
            shared = shared * _power(factor, count - 1)
    return [
        reduce(np.multiply, [*factors[:i], *factors[i + 1 :]], shared) for i in range(len(factors))
    ]


def _power(base: Array, exponent: int) -> Array:
    """base^exponent for 0 < base and a whole exponent >= 1, by repeated squaring: faster than exp and log."""
    # Below 2^-1000 it stays there: denormal numbers are slow.
    square = np.maximum(base, 2.0 ** (-1000.0 / exponent))
    power = 1.0
    while True:
        if exponent & 1:
            power = power * square
        exponent >>= 1
        if not exponent:
            return power
        square *= square


def _ratio_sum(
    parts: Sequence[Array], wholes: Sequence[Array], counts: Sequence[int], leave_out: int
) -> Array:
    """Sum over all keys but one of group `leave_out` of part / whole."""
    total = np.zeros(())
    for j, (part, whole, count) in enumerate(zip(parts, wholes, counts, strict=True)):
        keys = count - 1 if j == leave_out else count
        if keys:
            total = total + keys * (part / whole)
    return total


def _panels(
    groups: Sequence[ScoreGroup],
) -> tuple[Callable[[Sequence[ScoreGroup], Array, Array], _Table], Array]:
    """The way to tabulate and the panels' edges: fixed in the score or fixed in w, whichever are fewer."""
    score_edges = _score_edges(groups)
    narrowest = min(PANEL * group.std / _sharpness(group) for group in groups)
    if len(score_edges) <= count_panels(WINDOW, narrowest):
        return _tabulate_over_scores, score_edges
    return _tabulate_over_window, cut(WINDOW, narrowest)


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


def _tabulate_over_scores(groups: Sequence[ScoreGroup], u: Array, edges: Array) -> _Table:
    scores, weights = panel_nodes(edges)
    # Seen from the highest score, y overflows on neither side.
    y_offset, y_position = np.exp(u + edges[-1]), np.exp(scores - edges[-1])
    survival = np.exp(-np.minimum(y_offset[:, None] * y_position, _LARGEST_Y))
    increments = tuple(survival * _normal_density(scores, group) for group in groups)
    below = (np.zeros_like(u),) * len(groups)
    return _Table(edges, scores, weights, y_position, u, y_offset, increments, below)


def _tabulate_over_window(groups: Sequence[ScoreGroup], u: Array, edges: Array) -> _Table:
    w, weights = panel_nodes(edges)
    y = np.exp(w)
    scores = w - u[:, None]
    increments = tuple(np.exp(-y) * _normal_density(scores, group) for group in groups)
    below = tuple(ndtr((edges[0] - u - group.mean) / group.std) for group in groups)
    return _Table(edges, w, weights, y, np.zeros_like(u), np.ones_like(u), increments, below)


def _normal_density(scores: Array, group: ScoreGroup) -> Array:
    z = (scores - group.mean) / group.std
    return normal_shape(z) / (group.std * np.sqrt(2.0 * np.pi))


def normal_shape(z: Array) -> Array:
    """exp(-z^2 / 2), kept at 1e-297 or more: denormal numbers are slow."""
    return np.exp(-0.5 * np.minimum(z * z, _FURTHEST**2))
