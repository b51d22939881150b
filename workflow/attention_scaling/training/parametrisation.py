"""How learning rates depend on the width: one factor a parameter, by rule.

- `fixed`: no dependence.
- `mup`: W_Q and W_K, whose inputs are d_model wide, learn at base / d_model times the rate under Adam (Yang et
  al. 2022, "Tensor Programs V", table 3: hidden weights, 1 / fan-in). Where d_model stays and d_k alone grows,
  they are input weights, whose rate that table leaves alone, and the rule is `fixed`.
- `matched`: a folded W_Q holds root's divided by sqrt(d_k), and its gradient is sqrt(d_k) times root's. So
  gradient descent follows root at a rate d_k times smaller, and Adam, which does not see the size of a gradient,
  at one sqrt(d_k) times smaller.
"""

from __future__ import annotations

import math


def rate_factor(
    parameter: str,
    rule: str,
    *,
    variant: str,
    optimizer: str,
    d_k: int,
    d_model: int,
    base_width: int,
) -> float:
    """What the learning rate of `parameter` (its last name part: query, key, gain, ...) is multiplied by."""
    name = parameter.rpartition(".")[2]
    if rule == "mup" and name in ("query", "key"):
        return base_width / d_model
    if rule == "matched" and name == "query" and variant == "folded":
        return 1 / (d_k if optimizer == "sgd" else math.sqrt(d_k))
    return 1.0
