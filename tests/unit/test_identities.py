import math

import numpy as np
import pytest

from attention_scaling.experiments import (
    attention_identities,
    identities,
    softmax_identities,
)
from attention_scaling.experiments.identity_rows import jacobian
from attention_scaling.tables import LABELS

SETTINGS = identities.Settings()


@pytest.fixture(scope="module")
def rows(backend):
    return [*identities.exact(SETTINGS), *identities.measure(SETTINGS, backend)]


def test_every_identity_holds_to_rounding(rows):
    for row in rows:
        if row.skipped or row.theory is None or row.stderr:
            continue
        loose = row.quantity.endswith("difference") or row.quantity.startswith("tiny")
        tolerance = 5e-3 if loose else 64 * 2**-52 * max(1.0, abs(row.theory))
        assert abs(row.value - row.theory) <= tolerance, row


def test_every_quantity_is_measured_and_described(rows, backend):
    measured = {row.quantity for row in rows}
    torch_alone = {
        "library_error",
        "forward_products",
        "backward_products",
    }
    missing = set() if backend.name == "torch" else torch_alone
    assert measured == set(identities.QUANTITIES) - missing


def test_no_two_rows_have_the_same_labels(rows):
    labels = [tuple(getattr(row, name) for name in LABELS) for row in rows]
    assert len(set(labels)) == len(labels)


def test_the_derivatives_are_those_of_calculus(backend):
    point = backend.asarray([0.5, -1.0, 2.0])
    found = jacobian(backend, lambda xp, x: xp.stack([x[0] * x[1], xp.exp(x[2])]), point)
    expected = [[-1.0, 0.5, 0.0], [0.0, 0.0, math.exp(2)]]
    np.testing.assert_allclose(backend.to_numpy(found), expected, rtol=1e-15)


def test_a_wrong_softmax_is_caught(backend, monkeypatch):
    """The errors are measured against something that a mistake does not change."""
    monkeypatch.setattr(softmax_identities, "softmax", lambda scores: scores * 0 + 1 / 8)
    scores = backend.asarray(np.linspace(-2, 2, 16).reshape(2, 8))
    errors = {row.quantity: row.value for row in softmax_identities._derivatives(backend, scores)}
    assert errors["diagonal_error"] > 0.05 and errors["cross_error"] > 0.01


def test_a_wrong_gradient_is_caught(backend, monkeypatch):
    right = attention_identities.attention_backward

    def swapped(*matrices, **options):
        dQ, dK, dV = right(*matrices, **options)
        return dQ * 1.001, dK, dV

    monkeypatch.setattr(attention_identities, "attention_backward", swapped)
    rng = np.random.default_rng(1)
    rows = [
        row
        for row in attention_identities.measure(SETTINGS, backend, rng)
        if row.quantity in ("backward_error", "backward_difference") and row.variant == "dQ"
    ]
    assert len(rows) == 2 and all(row.value > 1e-5 for row in rows)
