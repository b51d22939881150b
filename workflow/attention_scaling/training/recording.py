"""What is recorded of a model on its evaluation batch: how it does, how far its logits are."""

from __future__ import annotations

import torch

from attention_scaling.training.heads import Parameters
from attention_scaling.training.outcome import Outcome

FROZEN_CAPACITY = 0.01
"""A wrong row whose capacity is below this passes next to no gradient, whatever the loss."""


def record(outcome: Outcome, gradients: Parameters) -> dict[str, torch.Tensor]:
    """The quantities of each run by name, of shape (runs,) each; their meanings are in `experiments.training`.

    Of two layers, the gradients are those of the second.
    """
    scores, weights = outcome.scores.detach(), outcome.weights.detach()
    sizes = scores.abs().masked_fill(~outcome.visible, 0.0)
    right_weight = outcome.of_right_key(weights)
    capacity = 1 - weights.square().sum(-1)
    frozen = (right_weight < 0.5) & (capacity < FROZEN_CAPACITY)
    largest = sizes.amax((1, 2))
    found = {
        "loss": outcome.losses.detach(),
        "accuracy": outcome.accuracy,
        "logit_size": sizes.sum((1, 2)) / outcome.visible.sum((1, 2)),
        "logit_max": largest,
        "right_logit": outcome.of_right_key(scores).mean(-1),
        "alignment": outcome.alignment.detach().mean(-1),
        "right_weight": right_weight.mean(-1),
        "top_weight": weights.amax(-1).mean(-1),
        "capacity": capacity.mean(-1),
        "frozen_share": frozen.to(scores.dtype).mean(-1),
        "gradient_norm_query": _norm(gradients, "query"),
        "gradient_norm_key": _norm(gradients, "key"),
    }
    if outcome.bound is not None:
        bound = torch.as_tensor(outcome.bound, dtype=scores.dtype, device=scores.device).detach()
        found["logit_bound"] = bound.flatten().expand_as(largest)
        found["bound_use"] = largest / found["logit_bound"]
    return found


def _norm(gradients: Parameters, name: str) -> torch.Tensor:
    gradient = next(gradients[full] for full in reversed(gradients) if full.endswith(name))
    return gradient.flatten(1).norm(dim=1)
