"""What can be done about scores that grow with the width: eight score functions behind one interface.

A head has queries q = x W_Q of shape (..., T_q, d_k) and keys k = y W_K of shape (..., T_k, d_k), and a remedy
makes scores of shape (..., T_q, T_k) of them:

- `none`: q.k
- `root`: q.k / sqrt(d_k) (Vaswani et al. 2017, "Attention Is All You Need", equation 1)
- `width`: sqrt(base) q.k / d_k, equal to root where d_k is the base width (Yang et al. 2022, "Tensor Programs
  V", definition 4.1)
- `qk_norm`: g cos(q, k), g learned (Henry et al. 2020, "Query-Key Normalization for Transformers", section 3)
- `qk_rms`: g sqrt(d_k) cos(q, k), g learned: queries and keys of root mean square 1, then the root; Dehghani et
  al. 2023, "Scaling Vision Transformers to 22 Billion Parameters", do so with layer norm
- `folded`: q.k, with W_Q drawn smaller by sqrt(d_k) (the code of T5, Raffel et al. 2020)
- `additive`: v.tanh(q + k + b), v and b learned (Bahdanau et al. 2015, "Neural Machine Translation by Jointly
  Learning to Align and Translate", appendix A.1.2). W_Q and W_K are the two maps into its hidden layer, whose
  width is d_k: so Britz et al. 2017, "Massive Exploration of Neural Machine Translation Architectures", compared
  it with the dot product
- `softcap`: cap tanh(s / cap) of root's scores s (Gemma Team 2024, "Gemma 2")

Everything is written against the array API standard and writes to none of its arguments, so PyTorch can
differentiate it; `pullback` is the derivative by hand, for NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from attention_scaling.backends import Array, Backend, Draws
from attention_scaling.errors import UserError

Parameters = dict[str, Array]
"""What a remedy learns beside W_Q and W_K, by name."""

BASE_WIDTH = 64
"""Width at which `width` equals `root`, unless given."""

SOFT_CAP = 50.0
"""The cap on attention logits in Gemma 2."""


class Remedy:
    """A score function, how its head is initialised, and its derivative."""

    def query_factor(self, d_k: int) -> float:
        """What the standard deviation of W_Q's initial entries is multiplied by."""
        return 1.0

    def parameters(
        self, backend: Backend, draws: Draws, lead: tuple[int, ...], *, d_k: int, n_keys: int
    ) -> Parameters:
        """The initial extra parameters for heads of leading shape `lead`, float64."""
        return {}

    def bound(self, parameters: Parameters, *, d_k: int) -> Array | float | None:
        """What no |score| of a head exceeds; None where nothing bounds them."""
        return None

    def scores(self, queries: Array, keys: Array, parameters: Parameters) -> Array:
        """The scores of shape (..., T_q, T_k)."""
        raise NotImplementedError

    def pullback(
        self, queries: Array, keys: Array, parameters: Parameters, d_scores: Array
    ) -> tuple[Array, Array]:
        """The gradients at queries and keys of a loss with gradient `d_scores` at the scores."""
        raise NotImplementedError


@dataclass(frozen=True)
class DotProduct(Remedy):
    """multiplier(d_k) q.k; W_Q drawn with query_multiplier(d_k) times the usual standard deviation."""

    multiplier: Callable[[int], float]
    query_multiplier: Callable[[int], float] = lambda d_k: 1.0

    def query_factor(self, d_k: int) -> float:
        """The query multiplier at this width."""
        return self.query_multiplier(d_k)

    def scores(self, queries: Array, keys: Array, parameters: Parameters) -> Array:
        """Multiplied dot products."""
        return (queries * self.multiplier(queries.shape[-1])) @ keys.mT

    def pullback(
        self, queries: Array, keys: Array, parameters: Parameters, d_scores: Array
    ) -> tuple[Array, Array]:
        """Give dQ = c dS K and dK = c dS^T Q for the multiplier c."""
        multiplier = self.multiplier(queries.shape[-1])
        return (d_scores @ keys) * multiplier, (d_scores.mT @ queries) * multiplier


@dataclass(frozen=True)
class Normalised(Remedy):
    """gain multiplier(d_k) cos(q, k): no score exceeds the multiplied gain. Queries and keys must not be 0."""

    multiplier: Callable[[int], float]
    initial_gain: Callable[[int], float]

    def parameters(
        self, backend: Backend, draws: Draws, lead: tuple[int, ...], *, d_k: int, n_keys: int
    ) -> Parameters:
        """The gain, one a head."""
        ones = backend.xp.ones((*lead, 1, 1), dtype=backend.dtype("float64"), device=backend.device)
        return {"gain": ones * self.initial_gain(n_keys)}

    def bound(self, parameters: Parameters, *, d_k: int) -> Array:
        """The score of a query and a key of the same direction."""
        return array_namespace(parameters["gain"]).abs(parameters["gain"]) * self.multiplier(d_k)

    def scores(self, queries: Array, keys: Array, parameters: Parameters) -> Array:
        """Cosines times the gain and the multiplier."""
        gain = parameters["gain"] * self.multiplier(queries.shape[-1])
        # There are fewer scores to divide than numbers in the vectors.
        return (queries @ keys.mT) * (gain / (_length(queries) * _length(keys).mT))

    def pullback(
        self, queries: Array, keys: Array, parameters: Parameters, d_scores: Array
    ) -> tuple[Array, Array]:
        """Back through the cosines: nothing passes along a vector itself, only across."""
        gain = parameters["gain"] * self.multiplier(queries.shape[-1])
        d_cosines = d_scores * gain
        return (
            _direction_pullback(queries, d_cosines @ _direction(keys)),
            _direction_pullback(keys, d_cosines.mT @ _direction(queries)),
        )


class Additive(Remedy):
    """v.tanh(q + k + b): v with variance 1 / d_k, which keeps the score's size at every width, and b = 0."""

    def parameters(
        self, backend: Backend, draws: Draws, lead: tuple[int, ...], *, d_k: int, n_keys: int
    ) -> Parameters:
        """The read-out v and the bias b."""
        return {
            "read_out": draws.normal((*lead, d_k, 1)) / math.sqrt(d_k),
            "bias": backend.xp.zeros(
                (*lead, 1, d_k), dtype=backend.dtype("float64"), device=backend.device
            ),
        }

    def scores(self, queries: Array, keys: Array, parameters: Parameters) -> Array:
        """The hidden layer of every pair, read out."""
        xp = array_namespace(queries)
        hidden = self._hidden(queries, keys, parameters)
        # All pairs of a head in one product.
        *lead, n_queries, n_keys, d_k = hidden.shape
        pairs = xp.reshape(hidden, (*lead, n_queries * n_keys, d_k))
        return xp.reshape(pairs @ parameters["read_out"], (*lead, n_queries, n_keys))

    def pullback(
        self, queries: Array, keys: Array, parameters: Parameters, d_scores: Array
    ) -> tuple[Array, Array]:
        """Back through v and tanh, whose derivative is 1 - tanh^2."""
        xp = array_namespace(queries)
        hidden = self._hidden(queries, keys, parameters)
        slope = 1 - hidden * hidden
        read_out = parameters["read_out"].mT
        d_queries = (d_scores[..., None, :] @ slope)[..., 0, :]
        d_keys = xp.sum(d_scores[..., None] * slope, axis=-3)
        return d_queries * read_out, d_keys * read_out

    @staticmethod
    def _hidden(queries: Array, keys: Array, parameters: Parameters) -> Array:
        """The hidden layer of every pair, of shape (..., T_q, T_k, d_k)."""
        xp = array_namespace(queries)
        return xp.tanh(queries[..., :, None, :] + (keys + parameters["bias"])[..., None, :, :])


@dataclass(frozen=True)
class Softcapped(Remedy):
    """cap tanh(s / cap) of another remedy's scores s."""

    inner: Remedy
    cap: float

    def bound(self, parameters: Parameters, *, d_k: int) -> float:
        """The cap."""
        return self.cap

    def scores(self, queries: Array, keys: Array, parameters: Parameters) -> Array:
        """The inner scores, capped."""
        scores = self.inner.scores(queries, keys, parameters)
        return self.cap * array_namespace(scores).tanh(scores / self.cap)

    def pullback(
        self, queries: Array, keys: Array, parameters: Parameters, d_scores: Array
    ) -> tuple[Array, Array]:
        """Back through the cap, whose derivative is 1 - tanh^2, and the inner scores."""
        capped = self.scores(queries, keys, parameters) / self.cap
        return self.inner.pullback(queries, keys, parameters, d_scores * (1 - capped * capped))


def _one(d_k: int) -> float:
    return 1.0


def _inverse_root(d_k: int) -> float:
    return 1 / math.sqrt(d_k)


_MAKERS: dict[str, Callable[[int, float], Remedy]] = {
    "none": lambda base, cap: DotProduct(_one),
    "root": lambda base, cap: DotProduct(_inverse_root),
    "width": lambda base, cap: DotProduct(lambda d_k: math.sqrt(base) / d_k),
    # Henry et al. start at log2(L^2 - L) for rows of L positions; one key leaves no choice to be made.
    "qk_norm": lambda base, cap: Normalised(_one, lambda n: math.log2(max(n * n - n, 2))),
    "qk_rms": lambda base, cap: Normalised(math.sqrt, lambda n: 1.0),
    "folded": lambda base, cap: DotProduct(_one, _inverse_root),
    "additive": lambda base, cap: Additive(),
    "softcap": lambda base, cap: Softcapped(DotProduct(_inverse_root), cap),
}

NAMES = tuple(_MAKERS)


def remedy(name: str, *, base_width: int = BASE_WIDTH, cap: float = SOFT_CAP) -> Remedy:
    """The remedy `name`; `UserError` where there is none."""
    if name not in _MAKERS:
        raise UserError(f"remedy {name!r}: allowed are {', '.join(NAMES)}")
    return _MAKERS[name](base_width, cap)


def _direction(vectors: Array) -> Array:
    return vectors / _length(vectors)


def _length(vectors: Array) -> Array:
    xp = array_namespace(vectors)
    return xp.sqrt(xp.sum(vectors * vectors, axis=-1, keepdims=True))


def _direction_pullback(vectors: Array, d_direction: Array) -> Array:
    """The gradient at `vectors` of a loss with gradient `d_direction` at their directions."""
    xp: Any = array_namespace(vectors)
    direction = _direction(vectors)
    radial = xp.sum(direction * d_direction, axis=-1, keepdims=True)
    return (d_direction - direction * radial) / _length(vectors)
