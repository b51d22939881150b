"""The second task: associative recall by two attention layers, which must make an induction head.

A sequence holds pairs of tokens, first and second, and then all first tokens again in another order; after each
of these, the model must name its partner, as a next token. Tokens and positions have fixed random embeddings. One
layer cannot do it: the partner's position says nothing of the token before it. The first layer can bring that
token there, and the second layer's query then finds its key (Olsson et al. 2022, "In-context Learning and
Induction Heads"). The loss is the cross-entropy of the next token; its logarithm stands behind the softmax over
tokens, not behind that over keys, whose Jacobian stays whole.

Layers read their input at root mean square 1 and add to it; there is no other block. What is recorded are the
second layer's rows at the tokens to be answered, whose own key is that of the partner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from attention_scaling.backends import Backend, Draws
from attention_scaling.remedies import Remedy
from attention_scaling.training.heads import Attention, Parameters, attend, initial_head, project
from attention_scaling.training.outcome import Outcome, cosines
from attention_scaling.training.settings import RecallSettings

LAYERS = ("first", "second")

OUTPUT_FACTOR = 0.3
"""Standard deviation of the layers' value maps, times sqrt(d_model): small beside what they are added to."""


class Recall:
    """The task, for one run a stream."""

    def __init__(self, settings: RecallSettings, remedy: Remedy, *, d_model: int, d_k: int) -> None:
        self._settings = settings
        self._remedy = remedy
        self._d_model = d_model
        self._d_k = d_k
        self._asked = slice(2 * settings.pairs, None)
        self.n_keys = 3 * settings.pairs

    def initial(self, backend: Backend, draws: Sequence[Draws]) -> Parameters:
        """The parameters of both layers, one run for each stream."""
        parameters = {}
        for layer in LAYERS:
            head = initial_head(
                self._remedy,
                backend,
                draws,
                d_model=self._d_model,
                d_k=self._d_k,
                n_keys=self.n_keys,
            )
            spread = OUTPUT_FACTOR / math.sqrt(self._d_model)
            maps = [stream.normal((self._d_model, self._d_model)) * spread for stream in draws]
            head["value"] = torch.stack([torch.as_tensor(matrix) for matrix in maps])
            parameters |= {f"{layer}.{name}": value for name, value in head.items()}
        return parameters

    def fixed(self, draws: Sequence[Draws]) -> Parameters:
        """Embeddings of first tokens, second tokens and positions, one of each for each stream."""
        rows = {
            "first_tokens": self._settings.vocabulary,
            "second_tokens": self._settings.vocabulary,
            "positions": self.n_keys,
        }
        return {
            name: torch.stack([torch.as_tensor(s.normal((count, self._d_model))) for s in draws])
            for name, count in rows.items()
        }

    def batch(
        self, draws: Sequence[Draws], *, evaluation: bool = False
    ) -> tuple[torch.Tensor, ...]:
        """First and second tokens of the pairs, and the order in which they come again, as whole numbers.

        (streams, sequences, pairs) each. First tokens are all different; second tokens may repeat.
        """
        settings = self._settings
        sequences = settings.evaluation_batch if evaluation else settings.batch
        pairs, vocabulary = settings.pairs, settings.vocabulary

        def uniform(count: int) -> torch.Tensor:
            return torch.stack([torch.as_tensor(s.uniform((sequences, count))) for s in draws])

        first = uniform(vocabulary).argsort(-1)[..., :pairs]
        second = (uniform(pairs) * vocabulary).long()
        return first, second, uniform(pairs).argsort(-1)

    def losses(
        self, parameters: Parameters, fixed: Parameters, batch: tuple[torch.Tensor, ...]
    ) -> torch.Tensor:
        """The losses of all runs: what a step of training needs."""
        _, logits = self._layers(parameters, fixed, batch)
        return _losses(logits, _wanted(batch))

    def __call__(
        self, parameters: Parameters, fixed: Parameters, batch: tuple[torch.Tensor, ...]
    ) -> Outcome:
        """Losses and rows of all runs."""
        head, logits = self._layers(parameters, fixed, batch)
        wanted, order = _wanted(batch), batch[2]
        right = 2 * order + 1
        own_keys = head.keys.gather(2, right[..., None].expand(-1, -1, -1, head.keys.shape[-1]))
        alignment = cosines(head.queries, own_keys)
        visible = ~self._hidden(order.device)[self._asked].expand_as(head.scores)
        return Outcome(
            losses=_losses(logits, wanted),
            accuracy=(logits.argmax(-1) == wanted).to(logits.dtype).mean(-1),
            scores=head.scores.flatten(1, 2),
            weights=head.weights.flatten(1, 2),
            visible=visible.flatten(1, 2),
            right=right.flatten(1),
            alignment=alignment.flatten(1),
            bound=head.bound,
        )

    def _layers(
        self, parameters: Parameters, fixed: Parameters, batch: tuple[torch.Tensor, ...]
    ) -> tuple[Attention, torch.Tensor]:
        """The second layer's heads, and the logits of the next tokens, (runs, questions, vocabulary).

        Behind the second layer nothing reads rows but those of the tokens to be answered, so it has no others.
        """
        stream = self._embed(fixed, *batch)
        hidden = self._hidden(stream.device)
        for layer, rows in zip(LAYERS, (slice(None), self._asked), strict=True):
            own = _of_layer(parameters, layer)
            value = own.pop("value")
            inputs = _unit(stream)
            head = attend(self._remedy, own, inputs[:, :, rows], inputs, hidden[rows])
            stream = stream[:, :, rows] + head.weights @ project(inputs, value)
        answers = _unit(stream).flatten(1, 2)
        return head, answers @ fixed["second_tokens"].mT / math.sqrt(self._d_model)

    def _hidden(self, device: torch.device) -> torch.Tensor:
        """Which keys a row does not see, (T, T): those that come later."""
        return torch.ones(self.n_keys, self.n_keys, dtype=torch.bool, device=device).triu(1)

    def _embed(
        self, fixed: Parameters, first: torch.Tensor, second: torch.Tensor, order: torch.Tensor
    ) -> torch.Tensor:
        """The sequences as vectors, (runs, sequences, 3 pairs, d_model)."""
        runs = torch.arange(first.shape[0], device=first.device)[:, None, None]
        first_vectors = fixed["first_tokens"][runs, first]
        second_vectors = fixed["second_tokens"][runs, second]
        pairs = torch.stack((first_vectors, second_vectors), dim=3).flatten(2, 3)
        again = fixed["first_tokens"][runs, first.gather(-1, order)]
        tokens = torch.cat((pairs, again), dim=2)
        return (tokens + fixed["positions"][:, None]) / math.sqrt(2)


def _wanted(batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """The next tokens that are asked for, (runs, questions)."""
    _, second, order = batch
    return second.gather(-1, order).flatten(1)


def _losses(logits: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(logits.mT, wanted, reduction="none").mean(-1)


def _of_layer(parameters: Parameters, layer: str) -> Parameters:
    prefix = f"{layer}."
    return {
        name.removeprefix(prefix): value
        for name, value in parameters.items()
        if name.startswith(prefix)
    }


def _unit(vectors: torch.Tensor) -> torch.Tensor:
    """The vectors at root mean square 1."""
    return vectors * (vectors.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
