"""What a task's model says about a batch, as far as training and recording look at it."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Outcome:
    """The losses and the rows of attention in which a query must find its own key.

    `losses` and `accuracy` have shape (runs,); `scores`, `weights` and `visible` (runs, rows, n_keys), where
    `visible` is False for keys that a row cannot see; `right` (runs, rows) is the index of each row's own key;
    `alignment` (runs, rows) is the cosine between the query and that key; `bound` is the head's (see `heads`).
    """

    losses: torch.Tensor
    accuracy: torch.Tensor
    scores: torch.Tensor
    weights: torch.Tensor
    visible: torch.Tensor
    right: torch.Tensor
    alignment: torch.Tensor
    bound: torch.Tensor | float | None

    def of_right_key(self, values: torch.Tensor) -> torch.Tensor:
        """The entries of scores or weights that belong to each row's own key, of shape (runs, rows)."""
        return values.gather(-1, self.right[..., None])[..., 0]


@torch.no_grad()
def cosines(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """The cosine of every query and the key at its place; `torch.cosine_similarity` scales all vectors first."""
    return torch.linalg.vecdot(queries, keys) / (queries.norm(dim=-1) * keys.norm(dim=-1))
