"""Streams of random numbers by block, runs of blocks, and shards as ranges of runs.

A cell's samples come in blocks of a fixed number of rows. Block b draws from a stream of its own, named by the
study's seed, the experiment, the cell's labels and b, so a block holds the same numbers whichever job draws it,
in whatever order, and a larger study begins with the blocks of the smaller one. What is kept of a cell is the
moments of each run of neighbouring blocks; there are never more than `MOST_RUNS` of them, so what a job holds
and stores does not grow with the samples.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from attention_scaling.errors import UserError


def block_seed(seed: int, experiment: str, cell: str, block: int) -> np.random.SeedSequence:
    """The seed of one block's stream."""
    return np.random.SeedSequence(seed, spawn_key=(number_of(experiment), number_of(cell), block))


def number_of(name: str) -> int:
    """A 64-bit number that stands for a name, the same on every machine and in every run."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def block_sizes(samples: int, block_rows: int) -> list[int]:
    """The rows of each block of a cell of `samples` rows; only the last can be short."""
    whole, rest = divmod(samples, block_rows)
    return [block_rows] * whole + ([rest] if rest else [])


MOST_RUNS = 1024
"""Most runs of blocks in a cell: more than the shards anyone will want for one, few enough to keep."""


def runs_of_blocks(blocks: int) -> list[range]:
    """Blocks 0 to `blocks` - 1 cut into runs, all of one length but the last: decided by their number alone."""
    length = -(-blocks // MOST_RUNS)
    return [range(start, min(start + length, blocks)) for start in range(0, blocks, max(1, length))]


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

    def share(self, total: int, turn: int = 0) -> range:
        """This shard's part of `total` runs, neighbours together, sizes differing by one at most.

        `turn` decides which shard comes first: with the same one for all, cells of fewer runs than there are
        shards would all fall to the same few shards.
        """
        index = (self.index + turn) % self.count
        return range(total * index // self.count, total * (index + 1) // self.count)
