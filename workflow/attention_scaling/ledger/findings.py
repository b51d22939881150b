"""What a measured value says about a claim: the rules of comparison.

Sampling error is taken at 99 %: 2.58 standard errors. With hundreds of claims some true one misses that by
chance, so an equality `differs` only beyond 4 standard errors (one true claim in 16,000) and is inconclusive
in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from attention_scaling.ledger.models import Claim
from attention_scaling.ledger.printed import Printed

Z_CONSISTENT = 2.5758293035489004
"""Half width, in standard errors, of the central 99 % of a normal distribution."""

Z_DIFFERS = 4.0
"""Standard errors beyond which an equality is called a difference."""

RUN_LEVELS = (0.005, 0.995)
"""The central 99 % of the runs of a lesson's own design."""

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}
"""Distance from 1 to the next larger number, by dtype."""


@dataclass(frozen=True)
class Observed:
    """What the judge compares with a claim: a measured value, or a quotient of two.

    `runs` maps the number of rows of one run of the lesson's own design to two rows of numbers: levels, and
    the quantiles of what single runs give at these levels. `note` says why a value is less precise than the
    study asked for.
    """

    value: float
    stderr: float
    exact: float | None
    dtype: str
    runs: dict[int, np.ndarray] = field(default_factory=dict)
    note: str | None = None


@dataclass(frozen=True)
class Finding:
    """A verdict on one claim as one backend measured it."""

    verdict: str
    sentence: str
    low: float | None = None
    high: float | None = None
    percentile: float | None = None


def find(claim: Claim, observed: Observed) -> Finding:
    """The verdict on a claim that was measured."""
    if math.isnan(observed.value):
        return Finding("differs", "The measured value is not a number.")
    if claim.single_run:
        return _among_runs(claim, observed)
    if claim.kind == "replayed":
        # The claim is about this very sample: how near it comes to the truth is another question.
        observed = replace(observed, stderr=0.0)
    if claim.comparison == "within_error" and observed.stderr > 0:
        return _within_error(claim, observed)
    if claim.comparison in ("equals", "within_error"):
        return _as_printed(claim, observed) if claim.printed else _to_rounding(claim, observed)
    return _inequality(claim, observed)


def _as_printed(claim: Claim, observed: Observed) -> Finding:
    """Equal at the printed decimals, by the rounding that the print used."""
    printed = Printed.parse(claim.printed, claim.rounded_to)
    rounded = f"The measured {number(observed.value)} rounds to {printed.rounded(observed.value)}"
    low, high = printed.value - printed.half_unit, printed.value + printed.half_unit
    if printed.matches(observed.value):
        return Finding("reproduced", f"{rounded}, as printed.", low, high)
    return Finding("differs", f"{rounded}; the lesson prints {claim.printed}.", low, high)


def _to_rounding(claim: Claim, observed: Observed) -> Finding:
    """Equal to the rounding of the dtype."""
    distance, tolerance = abs(observed.value - claim.value), _rounding(claim, observed)
    sentence = (
        f"The measured {number(observed.value)} is {distance:.2g} away from {number(claim.value)}; "
        f"rounding in {observed.dtype} explains up to {tolerance:.2g}."
    )
    verdict = "reproduced" if distance <= tolerance else "differs"
    return Finding(verdict, sentence, claim.value - tolerance, claim.value + tolerance)


def _within_error(claim: Claim, observed: Observed) -> Finding:
    """The claimed number lies within the sampling error of the measured one."""
    target, half_unit = claim.claimed, _half_unit(claim)
    distance = max(0.0, abs(observed.value - target) - half_unit) / observed.stderr
    sentence = (
        f"The measured {measured(observed)} is {distance:.1f} standard errors from {number(target)}"
        f"{', its rounding allowed for' if half_unit else ''}."
    )
    margin = Z_CONSISTENT * observed.stderr + half_unit
    verdict = "differs" if distance > Z_DIFFERS else "inconclusive"
    if distance <= Z_CONSISTENT and observed.note is None:
        verdict = "consistent"
    elif observed.note is not None:
        sentence += f" The measurement {observed.note}."
    return Finding(verdict, sentence, target - margin, target + margin)


def _inequality(claim: Claim, observed: Observed) -> Finding:
    """An order, which must hold for the whole 99 % interval of the measured value."""
    low, high = _bounds(claim)
    strict = claim.comparison in ("more_than", "less_than")
    slack = 0.0 if strict else max(_half_unit(claim), _rounding(claim, observed))
    margin = Z_CONSISTENT * observed.stderr
    least, most = observed.value - margin, observed.value + margin
    if strict:
        holds, fails = low < least and most < high, most <= low or least >= high
    else:
        holds = low - slack <= least and most <= high + slack
        fails = most < low - slack or least > high + slack
    words = _bound_words(claim)
    ends = (None if math.isinf(low) else low, None if math.isinf(high) else high)
    if holds:
        verdict = "consistent" if observed.stderr else "reproduced"
        return Finding(verdict, f"The measured {measured(observed)} is {words}.", *ends)
    if fails:
        return Finding("differs", f"The measured {measured(observed)} is not {words}.", *ends)
    sentence = f"The measured {measured(observed)} leaves open whether it is {words}."
    return Finding("inconclusive", sentence, *ends)


def _among_runs(claim: Claim, observed: Observed) -> Finding:
    """The claimed number among the numbers that single runs of the lesson's own design give."""
    claimed, half_unit = claim.claimed, _half_unit(claim)
    equality = claim.comparison in ("equals", "within_error")
    bound_below = claim.comparison in ("at_least", "more_than")
    lows, highs, percentiles, before_rounding, possible = [], [], [], [], []
    for levels, quantiles in observed.runs.values():
        low, high = (float(q) for q in np.interp(RUN_LEVELS, levels, quantiles))
        lows.append(low)
        highs.append(high)
        least, middle, most = np.interp(
            [claimed - half_unit, claimed, claimed + half_unit], quantiles, levels, left=0, right=1
        )
        percentiles.append(float(middle))
        before_rounding += [least, most]
        if equality:
            possible.append(low - half_unit <= claimed <= high + half_unit)
        else:
            possible.append(claimed <= high if bound_below else claimed >= low)
    sizes = sorted({min(observed.runs), max(observed.runs)})
    if equality:
        place = f"{claim.printed or number(claimed)} is at percentile {_percent(percentiles)}"
        place += f" (before rounding: {_percent(before_rounding)})." if half_unit else "."
    else:
        shares = [1 - share for share in percentiles] if bound_below else percentiles
        place = f"{_percent(shares)} % are {_bound_words(claim)}."
    sentence = (
        f"Of single runs of this design ({' to '.join(map(str, sizes))} rows), 99 % give "
        f"{number(min(lows))} to {number(max(highs))}; {place}"
    )
    if observed.exact is not None:
        sentence += f" The exact mean is {number(observed.exact)}."
    verdict = "inconclusive" if any(possible) else "differs"
    if all(possible):
        verdict = "consistent"
    typical = percentiles[len(percentiles) // 2]
    return Finding(verdict, sentence, min(lows), max(highs), 100 * typical)


def _half_unit(claim: Claim) -> float:
    return Printed.parse(claim.printed, claim.rounded_to).half_unit if claim.printed else 0.0


def _rounding(claim: Claim, observed: Observed) -> float:
    """How far the rounding of the dtype can move a value of the claimed size, at least 1."""
    size = max(abs(bound) for bound in _bounds(claim) if math.isfinite(bound))
    return claim.roundings * EPSILON[observed.dtype] * max(1.0, size)


def _bounds(claim: Claim) -> tuple[float, float]:
    """The smallest and the largest value that the claim allows."""
    if claim.comparison == "between":
        return claim.range
    low = -math.inf if claim.comparison in ("at_most", "less_than") else claim.claimed
    high = math.inf if claim.comparison in ("at_least", "more_than") else claim.claimed
    return low, high


def _bound_words(claim: Claim) -> str:
    if claim.comparison == "between":
        return f"between {number(claim.range[0])} and {number(claim.range[1])}"
    return f"{claim.comparison.replace('_', ' ')} {claim.printed or number(claim.claimed)}"


def _percent(shares: Sequence[float]) -> str:
    """Shares as percent, from the smallest to the largest."""
    low, high = (f"{100 * share:.1f}".removesuffix(".0") for share in (min(shares), max(shares)))
    return low if low == high else f"{low} to {high}"


def number(value: float) -> str:
    """A number for a sentence: six digits at most."""
    return f"{value:.6g}"


def measured(observed: Observed) -> str:
    """A measured value, with its standard error to two digits where it has one."""
    if observed.stderr == 0:
        return number(observed.value)
    places = max(0, 1 - math.floor(math.log10(observed.stderr)))
    return f"{observed.value:.{places}f} ± {observed.stderr:.{places}f}"
