"""Streams of random numbers by block, and shards as ranges of blocks.

A cell's samples come in blocks of a fixed number of rows. Block b draws from a stream of its own, named by the
study's seed, the experiment, the cell's labels and b, so a block holds the same numbers whichever job draws it,
in whatever order, and a larger study begins with the blocks of the smaller one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from attention_scaling.errors import UserError


def block_seed(seed: int, experiment: str, cell: str, block: int) -> np.random.SeedSequence:
    """The seed of one block's stream."""
    return np.random.SeedSequence(seed, spawn_key=(_number(experiment), _number(cell), block))


def _number(name: str) -> int:
    """A 64-bit number that stands for a name, the same on every machine and in every run."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def block_sizes(samples: int, block_rows: int) -> list[int]:
    """The rows of each block of a cell of `samples` rows; only the last can be short."""
    whole, rest = divmod(samples, block_rows)
    return [block_rows] * whole + ([rest] if rest else [])


@dataclass(frozen=True)
class Shard:
    """The part `index` of `count` parts of a study."""

    index: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """A shard from "INDEX/COUNT", counted from 0."""
        index, slash, count = text.partition("/")
        if not (slash and index.isdecimal() and count.isdecimal() and int(index) < int(count)):
            raise UserError(f"shard {text!r}: allowed is INDEX/COUNT with 0 <= INDEX < COUNT")
        return cls(int(index), int(count))

    def blocks(self, total: int) -> range:
        """This shard's blocks out of `total`, neighbours together, sizes differing by one at most."""
        return range(total * self.index // self.count, total * (self.index + 1) // self.count)
