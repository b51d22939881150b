"""Facts about scores before the softmax: agreements counted, moments, and what a divisor leaves of the width."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from attention_scaling.attention import scaled_score_moments
from attention_scaling.backends import Backend
from attention_scaling.divisors import divisor_value
from attention_scaling.experiments.identity_rows import identity
from attention_scaling.fitting import power_law
from attention_scaling.measurement import Measurement
from attention_scaling.theory.moments import correlated_score_moments
from attention_scaling.theory.signs import binomial_signs

QUANTITIES = {
    "agreement_score": "score of sign vectors that agree in three places out of four",
    "root_width": "the root of the width, the typical size of a score",
    "sign_scaled_square": "mean square over all sign rows of the score over the root of the width",
    "doubled_size": "typical size of a score of signs at twice the width, over that at the width",
    "slope_after_power": "log-log slope over d_k of the typical size over a power of d_k",
    "term_mean": "mean of one term q_m k_m of the score",
    "term_variance": "variance of one term q_m k_m of the score",
    "spread_score_square": "mean square, over all rows, of a score of signs of other sizes than 1",
    "winner_changes": "rows in which dividing the scores moves the largest weight, of 1000",
    "scaled_moment_mean": "mean of the score over the root of the width, as scaled_score_moments gives it",
    "scaled_moment_variance": "its variance, as scaled_score_moments gives it",
}

AGREEMENTS = {4: (3, 1), 400: (300, 100)}
ROOT_WIDTHS = (4, 16, 64, 256, 1024)
BINOMIAL_WIDTHS = (8, 1000)
DOUBLED_WIDTHS = (4, 64, 512)
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
POWER_WIDTHS = (4, 16, 64, 256, 1024)
SPREAD_WIDTHS = (2, 4, 8)
SPREAD_QUERY, SPREAD_KEY = 0.5, 3.0
MOMENT_CELLS = ((64, 0.0), (1024, 0.0), (64, 0.3), (64, 0.6), (1024, 0.6), (64, 1.0))
WINNER_ROWS, WINNER_KEYS = 1000, 32
WINNER_WIDTHS = (4, 64, 1024)
_NODES = 16


def exact(settings: object) -> Iterator[Measurement]:
    """What needs no arrays: counts over all sign rows by the binomial law of agreements."""
    sizes = [math.sqrt(binomial_signs(d_k).square_mean) for d_k in POWER_WIDTHS]
    for power in POWERS:
        scaled = [size / d_k**power for size, d_k in zip(sizes, POWER_WIDTHS, strict=True)]
        slope = power_law(list(POWER_WIDTHS), scaled, [1.0] * len(scaled)).exponent
        yield _counted("slope_after_power", slope, variant=f"power={power:g}", theory=0.5 - power)
    for d_k in BINOMIAL_WIDTHS:
        square = binomial_signs(d_k).square_mean / d_k
        yield _counted("sign_scaled_square", square, d_k=d_k, theory=1.0)
    for d_k in DOUBLED_WIDTHS:
        ratio = binomial_signs(2 * d_k).square_mean / binomial_signs(d_k).square_mean
        yield _counted("doubled_size", math.sqrt(ratio), d_k=d_k, theory=math.sqrt(2))


def _counted(quantity: str, value: float, **fields: object) -> Measurement:
    return Measurement(
        experiment="identities",
        quantity=quantity,
        method="enumeration",
        value=float(value),
        stderr=0.0,
        **fields,
    )


def measure(settings: object, backend: Backend, rng: np.random.Generator) -> Iterator[Measurement]:
    """The facts that are computed on arrays."""
    xp = backend.xp
    for d_k, (agree, differ) in AGREEMENTS.items():
        query = backend.asarray(np.ones(d_k))
        key = backend.asarray(np.repeat([1.0, -1.0], [agree, differ]))
        score = xp.vecdot(query, key)
        yield identity(backend, "agreement_score", score, d_k=d_k, theory=float(agree - differ))
    for d_k in ROOT_WIDTHS:
        root = xp.sqrt(backend.asarray([float(d_k)]))[0]
        yield identity(backend, "root_width", root, d_k=d_k, theory=math.sqrt(d_k))
    yield from _terms(backend)
    for d_k in SPREAD_WIDTHS:
        rows = SPREAD_QUERY * np.array(list(itertools.product((-1.0, 1.0), repeat=d_k)))
        key = backend.asarray(SPREAD_KEY * np.resize([1.0, -1.0, -1.0], d_k))
        scores = xp.matmul(backend.asarray(rows), key)
        for divisor in ("none", "root"):
            square = xp.mean((scores / divisor_value(divisor, d_k)) ** 2)
            variance = d_k * (SPREAD_QUERY * SPREAD_KEY) ** 2 / divisor_value(divisor, d_k) ** 2
            yield identity(
                backend, "spread_score_square", square, d_k=d_k, divisor=divisor, theory=variance
            )
    for d_k in WINNER_WIDTHS:
        scores = backend.asarray(math.sqrt(d_k) * rng.normal(size=(WINNER_ROWS, WINNER_KEYS)))
        before = backend.to_numpy(xp.argmax(scores, axis=1))
        after = backend.to_numpy(xp.argmax(scores / math.sqrt(d_k), axis=1))
        changes = np.count_nonzero(before != after)
        yield identity(
            backend,
            "winner_changes",
            changes,
            d_k=d_k,
            n_keys=WINNER_KEYS,
            samples=WINNER_ROWS,
            theory=0.0,
        )
    for d_k, rho in MOMENT_CELLS:
        expected = correlated_score_moments(d_k, rho, "root")
        mean, variance = scaled_score_moments(d_k, rho)
        labels = {"d_k": d_k, "rho": rho}
        yield identity(backend, "scaled_moment_mean", mean, theory=expected.mean, **labels)
        yield identity(
            backend, "scaled_moment_variance", variance, theory=expected.variance, **labels
        )


def _terms(backend: Backend) -> Iterator[Measurement]:
    """Moments of a term q_m k_m by Gauss quadrature over both entries, exact for polynomials."""
    hermite, hermite_weights = np.polynomial.hermite_e.hermegauss(_NODES)
    legendre, legendre_weights = np.polynomial.legendre.leggauss(_NODES)
    laws = {
        "gaussian": (hermite, hermite_weights),
        "uniform": (math.sqrt(3) * legendre, legendre_weights),
        "signs": (np.array([-1.0, 1.0]), np.ones(2)),
    }
    for name, (nodes, weights) in laws.items():
        entries = backend.asarray(nodes)
        chances = backend.asarray(weights / weights.sum())
        terms = entries[:, None] * entries[None, :]
        joint = chances[:, None] * chances[None, :]
        mean = backend.xp.sum(joint * terms)
        variance = backend.xp.sum(joint * (terms - mean) ** 2)
        labels = {"method": "quadrature", "distribution": name}
        yield identity(backend, "term_mean", mean, theory=0.0, **labels)
        yield identity(backend, "term_variance", variance, theory=1.0, **labels)
