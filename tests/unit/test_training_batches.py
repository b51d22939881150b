"""Batches that cells share: the same for all, whoever comes first and however far each goes."""

from itertools import islice

import numpy as np
import pytest
import torch

from attention_scaling import backends
from attention_scaling.training import batches as module
from attention_scaling.training.batches import batches

BACKEND = backends.load("numpy")


def streams():
    return [BACKEND.draws(np.random.SeedSequence((7, run))) for run in range(2)]


def draw(given):
    return (torch.stack([torch.as_tensor(stream.normal((3,))) for stream in given]),)


def first(count, key):
    return torch.stack([batch for (batch,) in islice(batches(key, draw, streams), count)])


@pytest.mark.parametrize("lengths", [(9, 9), (2, 9), (9, 2, 9)])
def test_all_see_the_same_batches_and_go_on_alone_behind_those_kept(monkeypatch, lengths):
    monkeypatch.setattr(module, "KEPT_STEPS", 4)
    alone = streams()
    expected = torch.stack([draw(alone)[0] for _ in range(9)])
    for length in lengths:
        assert torch.equal(first(length, lengths), expected[:length])


def test_cells_in_turn_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setattr(module, "KEPT_STEPS", 4)
    one, other = (batches("turns", draw, streams) for _ in range(2))
    pairs = list(islice(zip(one, other, strict=True), 9))
    assert all(torch.equal(mine, theirs) for (mine,), (theirs,) in pairs)
