"""Adam and gradient descent for many runs at once, each run and each parameter at a learning rate of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import torch
from torch.optim.adam import adam

from attention_scaling.training.heads import Parameters

Rates = dict[str, torch.Tensor]
"""For each parameter the learning rates of the runs, of shape (runs,)."""


class GradientDescent:
    """Plain steps along the gradient."""

    def __init__(self, parameters: Parameters, rates: Rates) -> None:
        self._parameters = parameters
        self._rates = {
            name: rates[name].to(value).reshape(-1, *(1,) * (value.ndim - 1))
            for name, value in parameters.items()
        }

    def step(self, gradients: Parameters) -> None:
        """Change the parameters in place."""
        for name, gradient in gradients.items():
            self._parameters[name].sub_(self._rates[name] * gradient)


class Adam:
    """Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization", algorithm 1, with its constants.

    PyTorch's fused kernel does it in one pass over memory. It takes one rate a call, so runs go by their rates.
    """

    def __init__(self, parameters: Parameters, rates: Rates) -> None:
        by_rate: dict[float, list[tuple[str, slice]]] = {}
        for name in parameters:
            for rate, runs in _stretches(rates[name].tolist()):
                by_rate.setdefault(rate, []).append((name, runs))
        self._steps = [_fused(parameters, parts, rate) for rate, parts in by_rate.items()]

    def step(self, gradients: Parameters) -> None:
        """Change the parameters in place."""
        # The kernel walks through memory and does not look at strides.
        contiguous = {name: gradient.contiguous() for name, gradient in gradients.items()}
        for step in self._steps:
            step(contiguous)


OPTIMIZERS = {"adam": Adam, "sgd": GradientDescent}


def _stretches(rates: list[float]) -> list[tuple[float, slice]]:
    """The rates in order, each with the neighbouring runs that have it."""
    found, first = [], 0
    for rate, members in groupby(rates):
        last = first + len(list(members))
        found.append((rate, slice(first, last)))
        first = last
    return found


def _fused(
    parameters: Parameters, parts: list[tuple[str, slice]], rate: float
) -> Callable[[Parameters], None]:
    """The step at one rate of these parameters' runs, with the moments that it keeps."""
    values = [parameters[name][runs] for name, runs in parts]
    first, second = ([torch.zeros_like(value) for value in values] for _ in range(2))
    steps = [torch.zeros((), device=value.device) for value in values]

    def step(gradients: Parameters) -> None:
        adam(
            values,
            [gradients[name][runs] for name, runs in parts],
            first,
            second,
            [],
            steps,
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=rate,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )

    return step
