"""Adam and gradient descent for many runs at once, each run and each parameter at a learning rate of its own."""

from __future__ import annotations

import torch

from attention_scaling.training.heads import Parameters

Rates = dict[str, torch.Tensor]
"""For each parameter the learning rates of the runs, of shape (runs,)."""

FIRST_DECAY = 0.9
SECOND_DECAY = 0.999
EPSILON = 1e-8


class GradientDescent:
    """Plain steps along the gradient."""

    def __init__(self, parameters: Parameters, rates: Rates) -> None:
        self._parameters = parameters
        self._rates = _shaped_like(parameters, rates)

    def step(self, gradients: Parameters) -> None:
        """Change the parameters in place."""
        for name, gradient in gradients.items():
            self._parameters[name].sub_(self._rates[name] * gradient)


class Adam:
    """Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization", algorithm 1, with its constants."""

    def __init__(self, parameters: Parameters, rates: Rates) -> None:
        self._parameters = parameters
        self._rates = _shaped_like(parameters, rates)
        self._first = {name: torch.zeros_like(value) for name, value in parameters.items()}
        self._second = {name: torch.zeros_like(value) for name, value in parameters.items()}
        self._steps = 0

    def step(self, gradients: Parameters) -> None:
        """Change the parameters in place."""
        self._steps += 1
        first_weight = 1 - FIRST_DECAY**self._steps
        second_weight = 1 - SECOND_DECAY**self._steps
        for name, gradient in gradients.items():
            first = self._first[name].lerp_(gradient, 1 - FIRST_DECAY)
            second = self._second[name].mul_(SECOND_DECAY)
            second.addcmul_(gradient, gradient, value=1 - SECOND_DECAY)
            spread = (second / second_weight).sqrt_().add_(EPSILON)
            self._parameters[name].addcdiv_(
                first * self._rates[name], spread, value=-1 / first_weight
            )


OPTIMIZERS = {"adam": Adam, "sgd": GradientDescent}


def _shaped_like(parameters: Parameters, rates: Rates) -> Rates:
    """The rates, ready to multiply parameters of shape (runs, ...)."""
    return {
        name: rates[name].reshape(-1, *(1,) * (value.ndim - 1))
        for name, value in parameters.items()
    }
