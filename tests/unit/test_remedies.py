"""Score functions and their derivatives by hand, against loops over pairs and autograd."""

import math

import numpy as np
import pytest
import torch

from attention_scaling import backends, remedies
from attention_scaling.errors import UserError

WIDTHS = (1, 5, 64)
N_QUERIES, N_KEYS = 3, 4
LEAD = (2,)


def head(name, d_k, backend="numpy", seed=1):
    """A remedy, and float64 NumPy queries, keys and parameters for two heads of it."""
    loaded = backends.load(backend)
    remedy = remedies.remedy(name)
    draws = loaded.draws(np.random.SeedSequence(seed))
    generator = np.random.default_rng(seed)
    queries = generator.standard_normal((*LEAD, N_QUERIES, d_k)) * remedy.query_factor(d_k)
    keys = generator.standard_normal((*LEAD, N_KEYS, d_k))
    parameters = remedy.parameters(loaded, draws, LEAD, d_k=d_k, n_keys=N_KEYS)
    parameters = {key: loaded.to_numpy(value) for key, value in parameters.items()}
    if "bias" in parameters:  # zero at the start, which would hide it
        parameters["bias"] = parameters["bias"] + generator.standard_normal(
            parameters["bias"].shape
        )
    return remedy, queries, keys, parameters


def pair_score(name, query, key, parameters, head):
    """One score, from the remedy's formula as its paper has it."""
    d_k, dot = len(query), math.fsum(query * key)
    lengths = math.sqrt(math.fsum(query**2)) * math.sqrt(math.fsum(key**2))
    if name in ("none", "folded"):
        return dot
    if name == "root":
        return dot / math.sqrt(d_k)
    if name == "width":
        return dot * math.sqrt(64) / d_k
    if name == "qk_norm":
        return math.log2(N_KEYS**2 - N_KEYS) * dot / lengths
    if name == "qk_rms":
        rms_query = query / math.sqrt(np.mean(query**2))
        rms_key = key / math.sqrt(np.mean(key**2))
        return math.fsum(rms_query * rms_key) / math.sqrt(d_k)
    if name == "softcap":
        return 50 * math.tanh(dot / math.sqrt(d_k) / 50)
    bias, read_out = parameters["bias"][head, 0], parameters["read_out"][head, :, 0]
    return math.fsum(read_out * np.tanh(query + key + bias))


@pytest.mark.parametrize("d_k", WIDTHS)
@pytest.mark.parametrize("name", remedies.NAMES)
def test_scores_are_the_formula_of_every_pair(name, d_k):
    remedy, queries, keys, parameters = head(name, d_k)
    found = remedy.scores(queries, keys, parameters)
    expected = [
        [[pair_score(name, q, k, parameters, h) for k in keys[h]] for q in queries[h]]
        for h in range(LEAD[0])
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("d_k", WIDTHS)
@pytest.mark.parametrize("name", remedies.NAMES)
def test_pullback_agrees_with_autograd(name, d_k):
    remedy, queries, keys, parameters = head(name, d_k)
    upstream = np.random.default_rng(2).standard_normal((*LEAD, N_QUERIES, N_KEYS))
    by_hand = remedy.pullback(queries, keys, parameters, upstream)
    tensors = [torch.tensor(array, requires_grad=True) for array in (queries, keys)]
    parameters = {key: torch.tensor(value) for key, value in parameters.items()}
    scores = remedy.scores(*tensors, parameters)
    by_torch = torch.autograd.grad(scores, tensors, torch.tensor(upstream))
    for mine, reference in zip(by_hand, by_torch, strict=True):
        np.testing.assert_allclose(mine, reference.numpy(), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", remedies.NAMES)
def test_both_libraries_give_the_same_scores(name):
    remedy, queries, keys, parameters = head(name, 5)
    tensors = {key: torch.tensor(value) for key, value in parameters.items()}
    found = remedy.scores(torch.tensor(queries), torch.tensor(keys), tensors)
    np.testing.assert_allclose(
        found.numpy(), remedy.scores(queries, keys, parameters), rtol=1e-13, atol=1e-14
    )


@pytest.mark.parametrize("base_width", [16, 64, 100])
def test_width_equals_root_at_the_base_width_and_nowhere_else(base_width):
    generator = np.random.default_rng(3)
    width, root = remedies.remedy("width", base_width=base_width), remedies.remedy("root")
    for d_k in (base_width, 4 * base_width):
        queries, keys = generator.standard_normal((2, 3, d_k))
        ratio = width.scores(queries, keys, {}) / root.scores(queries, keys, {})
        np.testing.assert_allclose(ratio, 1 if d_k == base_width else 0.5, rtol=1e-13)


def test_folded_is_root_at_the_start():
    generator = np.random.default_rng(4)
    folded, root = remedies.remedy("folded"), remedies.remedy("root")
    queries, keys = generator.standard_normal((2, 6, 48))
    np.testing.assert_allclose(
        folded.scores(queries * folded.query_factor(48), keys, {}),
        root.scores(queries, keys, {}),
        rtol=1e-12,
        atol=1e-14,
    )


@pytest.mark.parametrize("name", ["qk_norm", "qk_rms", "softcap"])
def test_bounds_hold_for_aligned_vectors_of_any_length(name):
    remedy, queries, _, parameters = head(name, 64)
    keys = queries[..., :1, :] * 1e6
    scores = remedy.scores(queries * 1e6, keys, parameters)
    bound = {"qk_norm": math.log2(N_KEYS**2 - N_KEYS), "qk_rms": 8.0, "softcap": 50.0}[name]
    assert np.max(np.abs(scores)) <= bound * (1 + 1e-14)
    # The first query is the key's own direction: the bound is reached.
    np.testing.assert_allclose(scores[..., 0, 0], bound, rtol=1e-12)


def test_normalised_scores_know_no_lengths():
    remedy, queries, keys, parameters = head("qk_norm", 5)
    np.testing.assert_allclose(
        remedy.scores(queries * 1e-8, keys * 1e8, parameters),
        remedy.scores(queries, keys, parameters),
        rtol=1e-12,
    )


def test_an_unknown_remedy_is_refused_with_the_names():
    with pytest.raises(UserError, match="remedy 'sqrt': allowed are none, root, width"):
        remedies.remedy("sqrt")
