"""What the modules of the identities experiment share: its name, its rows, and exact derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_scaling.backends import Array, Backend
from attention_scaling.measurement import Measurement

NAME = "identities"

_COMPLEX_STEP = 1e-30


def identity(backend: Backend, quantity: str, value: Any, **fields: Any) -> Measurement:
    """A row of the experiment: computed on `backend`, without sampling error."""
    labels = {"method": "arithmetic", "stderr": 0.0} | fields
    return Measurement(
        experiment=NAME,
        quantity=quantity,
        backend=backend.name,
        device=backend.device,
        value=float(value),
        **labels,
    )


def largest(backend: Backend, array: Array) -> float:
    """The largest magnitude in `array`."""
    return float(np.max(np.abs(backend.to_numpy(array))))


def jacobian(backend: Backend, function: Callable[[Any, Array], Array], point: Array) -> Array:
    """The derivatives of `function(xp, x)` at `point`, of shape (*output, *input), to rounding.

    PyTorch differentiates by itself. NumPy takes the complex step (Squire and Trapp, "Using complex variables to
    estimate derivatives of real functions", 1998): for an analytic function Im f(x + ih) / h is f'(x) with an
    error of h^2, and no difference of near numbers is taken. So `function` must be written in operations that
    take complex numbers: products, sums, exp and log.
    """
    if backend.name == "torch":
        import torch

        return torch.autograd.functional.jacobian(lambda x: function(backend.xp, x), point)
    columns = []
    for index in np.ndindex(point.shape):
        stepped = point.astype(np.complex128)
        stepped[index] += 1j * _COMPLEX_STEP
        columns.append(np.imag(function(backend.xp, stepped)) / _COMPLEX_STEP)
    output = columns[0].shape
    return np.stack(columns, axis=-1).reshape(*output, *point.shape)


def derivative_method(backend: Backend) -> str:
    """What to call the way in which `jacobian` differentiates."""
    return "autograd" if backend.name == "torch" else "arithmetic"


def plain_softmax(xp: Any, scores: Array) -> Array:
    """exp(s) / sum exp(s) over the last axis as the definition has it, for complex numbers too."""
    exponentials = xp.exp(scores)
    return exponentials / xp.sum(exponentials, axis=-1, keepdims=True)
