"""Scores with a derivative by hand, against what autograd makes of the remedies themselves."""

import pytest
import torch

from attention_scaling.remedies import NAMES, remedy
from attention_scaling.training import scores
from attention_scaling.training.scores import scores_of

RUNS, GROUPS, QUERIES, KEYS, WIDTH = 2, 3, 4, 5, 6
OWN = {"gain": (RUNS, 1, 1, 1), "read_out": (RUNS, 1, WIDTH, 1), "bias": (RUNS, 1, 1, WIDTH)}


def numbers(*shape, seed):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=made, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("cached", [1, 2 * QUERIES * KEYS * WIDTH, 2**18])
@pytest.mark.parametrize("name", NAMES)
def test_scores_and_all_gradients_are_those_of_the_remedy(monkeypatch, name, cached):
    monkeypatch.setattr(scores, "CACHED_NUMBERS", cached)
    queries = numbers(RUNS, GROUPS, QUERIES, WIDTH, seed=1)
    keys = numbers(RUNS, GROUPS, KEYS, WIDTH, seed=2)
    own = {key: numbers(*shape, seed=3) for key, shape in OWN.items()}
    above = numbers(RUNS, GROUPS, QUERIES, KEYS, seed=4).detach()
    leaves = [queries, keys, *own.values()]
    found, expected = (
        (made, torch.autograd.grad((made * above).sum(), leaves, allow_unused=True))
        for made in (
            scores_of(remedy(name), queries, keys, own),
            remedy(name).scores(queries, keys, own),
        )
    )
    torch.testing.assert_close(found[0], expected[0], rtol=1e-12, atol=1e-12)
    for mine, theirs in zip(found[1], expected[1], strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            torch.testing.assert_close(mine, theirs, rtol=1e-11, atol=1e-12)
