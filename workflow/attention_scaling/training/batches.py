"""The batches of training, drawn once for all cells that see the same."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache

import torch

from attention_scaling.backends import Draws

KEPT_STEPS = 256
"""Steps whose batches are kept: of five seeds that find their keys, 42 MB."""

Draw = Callable[[Sequence[Draws]], tuple[torch.Tensor, ...]]


def batches(
    key: Hashable, draw: Draw, streams: Callable[[], Sequence[Draws]]
) -> Iterator[tuple[torch.Tensor, ...]]:
    """What `draw` gives of the streams, step by step without end.

    Equal keys stand for equal batches: `draw` and `streams` of the first who came with a key serve the others.
    """
    kept = _kept(key)
    if kept.streams is None:
        kept.streams = streams()
    for step in range(KEPT_STEPS):
        if step == len(kept.drawn):
            kept.drawn.append(draw(kept.streams))
        yield kept.drawn[step]
    own = copy.deepcopy(kept.streams)
    while True:
        yield draw(own)


class _Kept:
    """The first batches, and the streams as these left them."""

    def __init__(self) -> None:
        self.streams: Sequence[Draws] | None = None
        self.drawn: list[tuple[torch.Tensor, ...]] = []


@lru_cache(maxsize=2)
def _kept(key: Hashable) -> _Kept:
    return _Kept()
