"""Laws of the entries of queries and keys: centred, of variance 1, and otherwise as unlike as can be.

The variance argument needs nothing but mean 0, variance 1 and independence (Vaswani et al. 2017, section 3.2.1,
footnote 4); these laws share those and differ in everything else, most of all in their fourth moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from attention_scaling.backends import Array, Backend, Draws

STUDENT_DEGREES = 5
SPARSE_SHARE = 0.1


@dataclass(frozen=True)
class EntryLaw:
    """A law of single entries, with mean 0 and variance 1."""

    draw: Callable[[Backend, Draws, tuple[int, ...]], Array]
    fourth_moment: float


def _gaussian(backend: Backend, draws: Draws, shape: tuple[int, ...]) -> Array:
    return draws.normal(shape)


def _signs(backend: Backend, draws: Draws, shape: tuple[int, ...]) -> Array:
    # Shifted so that zero never occurs: uniform numbers are multiples of 2^-53 in [0, 1).
    return backend.xp.sign(draws.uniform(shape) - 0.5 + 2.0**-54)


def _uniform(backend: Backend, draws: Draws, shape: tuple[int, ...]) -> Array:
    return (draws.uniform(shape) - 0.5) * math.sqrt(12)


def _laplace(backend: Backend, draws: Draws, shape: tuple[int, ...]) -> Array:
    # The difference of two exponential numbers, by the inverse of their distribution function.
    xp = backend.xp
    first = xp.log1p(-draws.uniform(shape))
    second = xp.log1p(-draws.uniform(shape))
    return (second - first) / math.sqrt(2)


def _student(backend: Backend, draws: Draws, shape: tuple[int, ...]) -> Array:
    spread = backend.xp.sqrt(draws.chi_square(STUDENT_DEGREES, shape) / (STUDENT_DEGREES - 2))
    return draws.normal(shape) / spread


def _sparse(backend: Backend, draws: Draws, shape: tuple[int, ...]) -> Array:
    xp = backend.xp
    signs = _signs(backend, draws, shape) / math.sqrt(SPARSE_SHARE)
    return xp.where(draws.uniform(shape) < SPARSE_SHARE, signs, xp.zeros_like(signs))


LAWS: dict[str, EntryLaw] = {
    "gaussian": EntryLaw(_gaussian, 3.0),
    "signs": EntryLaw(_signs, 1.0),
    "uniform": EntryLaw(_uniform, 9 / 5),
    "laplace": EntryLaw(_laplace, 6.0),
    "student_t": EntryLaw(_student, 3 * (STUDENT_DEGREES - 2) / (STUDENT_DEGREES - 4)),
    "sparse": EntryLaw(_sparse, 1 / SPARSE_SHARE),
}
"""Entry laws by name. `student_t` has heavy tails (5 degrees of freedom: its fourth moment is finite, its
sixth is not); `sparse` is zero nine times out of ten."""
