"""The lessons' exact statements, checked numerically: each on real arrays, on every backend.

An identity is checked against something that does not use it: a derivative against automatic differentiation
or the complex step, a bound against random rows and the row that attains it, a count against all cases. Most
quantities are largest errors, whose exact value is 0, so what is measured is rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from attention_scaling.backends import Backend
from attention_scaling.experiments import (
    attention_identities,
    score_identities,
    softmax_identities,
)
from attention_scaling.experiments.identity_rows import NAME
from attention_scaling.measurement import Measurement
from attention_scaling.validation import StrictModel

__all__ = ["NAME", "QUANTITIES", "Settings", "exact", "measure"]

QUANTITIES = {
    **score_identities.QUANTITIES,
    **softmax_identities.QUANTITIES,
    **attention_identities.QUANTITIES,
}


class Settings(StrictModel):
    """Settings of the identities experiment."""

    seed: Annotated[int, Field(ge=0, description="Seed of the arrays that are tried.")] = 1


def exact(settings: Settings) -> Iterator[Measurement]:
    """What is counted over all cases and needs no backend."""
    return score_identities.exact(settings)


def measure(settings: Settings, backend: Backend) -> Iterator[Measurement]:
    """Every identity; NumPy draws the arrays, the same for every backend."""
    for part in (score_identities, softmax_identities, attention_identities):
        yield from part.measure(settings, backend, np.random.default_rng(settings.seed))
