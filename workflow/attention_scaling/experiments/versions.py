"""The two ways to attend that experiments compare, each cut between its forward and its backward pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attention_scaling.attention import attention_backward, scaled_dot_product_attention
from attention_scaling.backends import Array
from attention_scaling.tiled import tiled_attention, tiled_attention_backward


@dataclass(frozen=True)
class Version:
    """One way to attend.

    `forward(Q, K, V, **options)` gives the output and what the backward pass needs of it beside the inputs,
    `backward(Q, K, V, dO, kept, **options)` dQ, dK and dV. `products` counts the matrix products of T_q T_k d_k
    multiplications in each pass, and `kept_numbers(T_k)` the numbers that are kept for each query beside O.
    """

    forward: Callable[..., tuple[Array, Any]]
    backward: Callable[..., tuple[Array, Array, Array]]
    products: dict[str, int]
    kept_numbers: Callable[[int], int]

    def whole(
        self, Q: Array, K: Array, V: Array, dO: Array, **options: Any
    ) -> tuple[Array, Array, Array, Array]:
        """O, dQ, dK, dV."""
        output, kept = self.forward(Q, K, V, **options)
        return output, *self.backward(Q, K, V, dO, kept, **options)


def versions(block: int | None = None) -> dict[str, Version]:
    """Over whole matrices (`plain`), and in blocks (`tiled`) of `block` queries and keys or of the default size.

    In blocks the weights are computed again on the way back: Q K^T is a fifth product there.
    """
    tiles = None if block is None else (block, block)

    def plain_forward(Q: Array, K: Array, V: Array, **options: Any) -> tuple[Array, Any]:
        return scaled_dot_product_attention(Q, K, V, return_weights=True, **options)

    def plain_backward(
        Q: Array, K: Array, V: Array, dO: Array, kept: Any, **options: Any
    ) -> tuple[Array, Array, Array]:
        return attention_backward(Q, K, V, dO, weights=kept, **options)

    def tiled_forward(Q: Array, K: Array, V: Array, **options: Any) -> tuple[Array, Any]:
        return tiled_attention(Q, K, V, block=tiles, **options)

    def tiled_backward(
        Q: Array, K: Array, V: Array, dO: Array, kept: Any, **options: Any
    ) -> tuple[Array, Array, Array]:
        return tiled_attention_backward(Q, K, V, dO, kept, block=tiles, **options)

    return {
        "plain": Version(
            plain_forward,
            plain_backward,
            products={"forward": 2, "backward": 4},
            kept_numbers=lambda n_keys: n_keys,
        ),
        "tiled": Version(
            tiled_forward,
            tiled_backward,
            products={"forward": 2, "backward": 5},
            kept_numbers=lambda n_keys: 2,
        ),
    }
