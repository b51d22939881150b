"""The two tasks: what they ask, what they show, and what a head that knows the answer gets."""

import math

import numpy as np
import pytest
import torch

from attention_scaling import backends
from attention_scaling.attention import score_gradient, softmax
from attention_scaling.remedies import NAMES, remedy
from attention_scaling.training.recall import Recall
from attention_scaling.training.recording import record
from attention_scaling.training.retrieval import Retrieval
from attention_scaling.training.settings import RecallSettings, RetrievalSettings

BACKEND = backends.load("numpy")
RETRIEVAL = RetrievalSettings(n_keys=5, latent_width=6, batch=2, evaluation_batch=3)
RECALL = RecallSettings(pairs=3, vocabulary=4, batch=2, evaluation_batch=6)
RUNS = 2


def streams(seed=0):
    return [BACKEND.draws(np.random.SeedSequence((seed, run))) for run in range(RUNS)]


def retrieval(name, d_k=8):
    task = Retrieval(RETRIEVAL, remedy(name), d_model=7, d_k=d_k)
    parameters = task.initial(BACKEND, streams(1))
    return task, parameters, task.fixed(streams(2)), task.batch(streams(3), evaluation=True)


def gradients(parameters, losses):
    leaves = list(parameters.values())
    found = torch.autograd.grad(losses.sum(), leaves, allow_unused=True)
    return dict(zip(parameters, found, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_retrieval_is_the_head_written_out_by_hand(name):
    task, parameters, fixed, batch = retrieval(name)
    for value in parameters.values():
        value.requires_grad_()
    outcome = task(parameters, fixed, batch)
    found = record(outcome, gradients(parameters, outcome.losses))
    chosen = remedy(name)
    own = np.eye(RETRIEVAL.n_keys)
    for run in range(RUNS):
        embedding = fixed["embedding"][run].numpy()
        seen, items = (part[run].numpy() @ embedding for part in batch)
        mine = {key: value[run].detach().numpy() for key, value in parameters.items()}
        query, key = mine.pop("query"), mine.pop("key")
        queries, keys = seen @ query, items @ key
        scores = chosen.scores(queries, keys, mine)
        weights = softmax(scores)
        loss = np.mean(np.sum((weights - own) ** 2, axis=-1))
        d_scores = score_gradient(weights, 2 * (weights - own) / (weights.size / RETRIEVAL.n_keys))
        d_queries, d_keys = chosen.pullback(queries, keys, mine, d_scores)
        cosines = np.sum(queries * keys, axis=-1) / (
            np.linalg.norm(queries, axis=-1) * np.linalg.norm(keys, axis=-1)
        )
        right = np.diagonal(scores, axis1=-2, axis2=-1)
        wrong = np.diagonal(weights, axis1=-2, axis2=-1) < 0.5
        capacity = 1 - np.sum(weights**2, axis=-1)
        expected = {
            "loss": loss,
            "accuracy": np.mean(np.argmax(weights, axis=-1) == np.arange(RETRIEVAL.n_keys)),
            "logit_size": np.mean(np.abs(scores)),
            "logit_max": np.max(np.abs(scores)),
            "right_logit": np.mean(right),
            "alignment": np.mean(cosines),
            "right_weight": np.mean(np.diagonal(weights, axis1=-2, axis2=-1)),
            "top_weight": np.mean(np.max(weights, axis=-1)),
            "capacity": np.mean(capacity),
            "frozen_share": np.mean(wrong & (capacity < 0.01)),
            "gradient_norm_query": np.linalg.norm(
                np.sum(seen.swapaxes(-1, -2) @ d_queries, axis=0)
            ),
            "gradient_norm_key": np.linalg.norm(np.sum(items.swapaxes(-1, -2) @ d_keys, axis=0)),
        }
        bound = {"qk_norm": math.log2(20), "qk_rms": math.sqrt(8), "softcap": 50.0}.get(name)
        if bound is not None:
            expected |= {"logit_bound": bound, "bound_use": expected["logit_max"] / bound}
        assert set(found) == set(expected)
        for quantity, value in expected.items():
            np.testing.assert_allclose(
                found[quantity][run].detach(), value, rtol=1e-10, atol=1e-13, err_msg=quantity
            )


def test_items_have_unit_variance_for_queries_and_keys_and_the_noise_asked_for():
    task = Retrieval(
        RetrievalSettings(noise=0.5, evaluation_batch=400), remedy("root"), d_model=8, d_k=4
    )
    seen, items = task.batch(streams(), evaluation=True)
    assert seen.shape == items.shape == (RUNS, 400, 16, 32)
    for part in (seen, items):
        assert abs(float(part.square().mean()) - 1) < 0.01
    assert abs(float((seen * items).mean()) - 1 / math.sqrt(1.25)) < 0.01


def test_recall_batches_ask_for_the_partner_of_a_token_shown_once():
    task = Recall(RECALL, remedy("root"), d_model=16, d_k=4)
    first, second, order = task.batch(streams(), evaluation=True)
    assert first.shape == second.shape == order.shape == (RUNS, 6, 3)
    for pairs in first.reshape(-1, 3).tolist():
        assert len(set(pairs)) == 3
    assert set(first.flatten().tolist()) == set(second.flatten().tolist()) == set(range(4))
    assert all(sorted(turn) == [0, 1, 2] for turn in order.reshape(-1, 3).tolist())


def oracle(task, d_model):
    """Parameters and embeddings with which both layers do their part: orthogonal codes for everything.

    Coordinates: first tokens, second tokens, positions, and room for a copy of a first token.
    """
    n_tokens, n_positions = RECALL.vocabulary, task.n_keys
    first = torch.eye(d_model)[:n_tokens]
    second = torch.eye(d_model)[n_tokens : 2 * n_tokens]
    positions = torch.eye(d_model)[2 * n_tokens : 2 * n_tokens + n_positions]
    room = torch.eye(d_model)[2 * n_tokens + n_positions :][:n_tokens]
    fixed = {"first_tokens": first, "second_tokens": second, "positions": positions}
    sharp = 100.0
    layers = {
        "first": {
            "query": positions[1:].T @ positions[:-1] * sharp,
            "key": torch.eye(d_model),
            "value": first.T @ room,
        },
        "second": {
            "query": first.T @ room * sharp,
            "key": torch.eye(d_model),
            "value": second.T @ second * sharp,
        },
    }
    parameters = {
        f"{layer}.{name}": matrix.double()[None]
        for layer, matrices in layers.items()
        for name, matrix in matrices.items()
    }
    return parameters, {name: matrix.double()[None] for name, matrix in fixed.items()}


def test_an_induction_head_made_by_hand_answers_every_question():
    d_model = 2 * RECALL.vocabulary + 3 * RECALL.pairs + RECALL.vocabulary
    task = Recall(RECALL, remedy("none"), d_model=d_model, d_k=d_model)
    parameters, fixed = oracle(task, d_model)
    batch = task.batch(streams()[:1], evaluation=True)
    outcome = task(parameters, fixed, batch)
    assert outcome.accuracy.tolist() == [1.0]
    # The very first token has none before it and sees itself alone, so it copies itself as if it were its own
    # predecessor, and shares the weight of the question about it with its partner.
    expected = torch.where(outcome.right == 1, 0.5, 1.0).double()
    torch.testing.assert_close(
        outcome.of_right_key(outcome.weights), expected, rtol=1e-6, atol=1e-6
    )


def test_a_row_of_recall_sees_no_key_behind_it():
    task = Recall(RECALL, remedy("root"), d_model=16, d_k=4)
    outcome = task(task.initial(BACKEND, streams(1)), task.fixed(streams(2)), task.batch(streams()))
    asked = torch.arange(2 * RECALL.pairs, task.n_keys).repeat(RECALL.batch)
    expected = torch.arange(task.n_keys) <= asked[:, None]
    assert torch.equal(outcome.visible, expected.expand(outcome.visible.shape))
    assert torch.all(outcome.weights[~outcome.visible] == 0)
    torch.testing.assert_close(
        outcome.weights.sum(-1), torch.ones(outcome.weights.shape[:2], dtype=torch.float64)
    )


def test_what_comes_later_changes_no_answer_of_recall():
    task = Recall(RECALL, remedy("root"), d_model=16, d_k=4)
    parameters, fixed = task.initial(BACKEND, streams(1)), task.fixed(streams(2))
    first, second, order = task.batch(streams())
    one, other = (
        task(parameters, fixed, (first, second, turn)) for turn in (order, _last_two(order))
    )
    questions = torch.arange(RECALL.batch) * RECALL.pairs  # the first of each sequence
    torch.testing.assert_close(one.weights[:, questions], other.weights[:, questions])


def _last_two(order):
    return torch.cat((order[..., :1], order[..., 1:].flip(-1)), dim=-1)


def test_logits_that_a_row_cannot_see_are_not_counted():
    task = Recall(RECALL, remedy("root"), d_model=16, d_k=4)
    parameters = {
        key: value.requires_grad_() for key, value in task.initial(BACKEND, streams(1)).items()
    }
    outcome = task(parameters, task.fixed(streams(2)), task.batch(streams()))
    found = record(outcome, gradients(parameters, outcome.losses))
    for run in range(RUNS):
        seen = outcome.scores[run][outcome.visible[run]].detach().abs()
        torch.testing.assert_close(found["logit_size"][run], seen.mean())
        torch.testing.assert_close(found["logit_max"][run], seen.max())
