"""The first task: one head, where every query must find its own key among n_keys.

An item is a vector z of independent standard normal numbers, the same few at every width. Its key reads z, its
query reads z with noise, both through one fixed random embedding into d_model numbers of unit variance. Values
are orthonormal, one a position, so what the head retrieves is its weights a, and the squared error against the
own value e is |a - e|^2. There is no logarithm behind the softmax that would cancel its Jacobian: a closed and
wrong row learns nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from attention_scaling.backends import Backend, Draws
from attention_scaling.remedies import Remedy
from attention_scaling.training.heads import Attention, Parameters, attend, initial_head, project
from attention_scaling.training.outcome import Outcome, cosines
from attention_scaling.training.settings import RetrievalSettings

Batch = tuple[torch.Tensor, torch.Tensor]
"""Inputs of queries and of keys, each (runs, groups, n_keys, d_model)."""


class Retrieval:
    """The task at one width of the inputs, for one run a stream."""

    def __init__(
        self, settings: RetrievalSettings, remedy: Remedy, *, d_model: int, d_k: int
    ) -> None:
        self._settings = settings
        self._remedy = remedy
        self._d_model = d_model
        self._d_k = d_k
        self.n_keys = settings.n_keys

    def initial(self, backend: Backend, draws: Sequence[Draws]) -> Parameters:
        """The head's parameters, one run for each stream."""
        return initial_head(
            self._remedy,
            backend,
            draws,
            d_model=self._d_model,
            d_k=self._d_k,
            n_keys=self.n_keys,
        )

    def fixed(self, draws: Sequence[Draws]) -> Parameters:
        """The embedding, one for each stream."""
        width = self._settings.latent_width
        embeddings = [stream.normal((width, self._d_model)) / math.sqrt(width) for stream in draws]
        return {"embedding": torch.stack([torch.as_tensor(matrix) for matrix in embeddings])}

    def batch(
        self, draws: Sequence[Draws], *, evaluation: bool = False
    ) -> tuple[torch.Tensor, ...]:
        """Items as the queries and as the keys have them, (streams, groups, n_keys, latent_width) each."""
        settings = self._settings
        groups = settings.evaluation_batch if evaluation else settings.batch
        shape = (2, groups, settings.n_keys, settings.latent_width)
        items, noise = torch.stack([torch.as_tensor(s.normal(shape)) for s in draws], dim=1)
        seen = (items + settings.noise * noise) / math.sqrt(1 + settings.noise**2)
        return seen, items

    def losses(
        self, parameters: Parameters, fixed: Parameters, batch: tuple[torch.Tensor, ...]
    ) -> torch.Tensor:
        """The losses of all runs: what a step of training needs."""
        return self._losses(self._head(parameters, fixed, batch))

    def __call__(
        self, parameters: Parameters, fixed: Parameters, batch: tuple[torch.Tensor, ...]
    ) -> Outcome:
        """Losses and rows of all runs."""
        head = self._head(parameters, fixed, batch)
        scores, weights = head.scores.flatten(1, 2), head.weights.flatten(1, 2)
        positions = torch.arange(self.n_keys, device=scores.device)
        right = positions.repeat(scores.shape[1] // self.n_keys).expand(scores.shape[:2])
        return Outcome(
            losses=self._losses(head),
            accuracy=(weights.argmax(-1) == right).to(scores.dtype).mean(-1),
            scores=scores,
            weights=weights,
            visible=torch.ones((), dtype=torch.bool, device=scores.device).expand(scores.shape),
            right=right,
            alignment=cosines(head.queries, head.keys).flatten(1),
            bound=head.bound,
        )

    def _head(
        self, parameters: Parameters, fixed: Parameters, batch: tuple[torch.Tensor, ...]
    ) -> Attention:
        inputs = (project(items, fixed["embedding"]) for items in batch)
        return attend(self._remedy, parameters, *inputs)

    def _losses(self, head: Attention) -> torch.Tensor:
        own = torch.eye(self.n_keys, dtype=head.weights.dtype, device=head.weights.device)
        return (head.weights - own).square().sum(-1).mean((1, 2))
