"""What is said of a row of scores, against a plain softmax and its whole Jacobian."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from attention_scaling import backends
from attention_scaling.sampling import rows

SCORES = st.integers(1, 12).flatmap(
    lambda n_keys: arrays(np.float64, (n_keys, 5), elements=st.floats(-60, 60))
)
ALL = (
    "top_weight",
    "aligned_weight",
    "closed_share",
    "capacity",
    "top_derivative",
    "entropy",
    "top_eigenvalue",
)


def expected(scores):
    weights = softmax(scores, axis=0)
    jacobians = [np.diag(a) - np.outer(a, a) for a in weights.T]
    logs = np.log(np.where(weights > 0, weights, 1))
    return {
        "top_weight": weights.max(axis=0),
        "aligned_weight": weights[0],
        "closed_share": (weights.max(axis=0) > 0.9).astype(float),
        "capacity": np.array([np.trace(jacobian) for jacobian in jacobians]),
        "top_derivative": np.array([np.diag(jacobian).max() for jacobian in jacobians]),
        "entropy": -(weights * logs).sum(axis=0),
        "top_eigenvalue": np.array([np.linalg.eigvalsh(jacobian)[-1] for jacobian in jacobians]),
    }


@pytest.mark.parametrize("name", backends.NAMES)
@given(scores=SCORES)
def test_statistics_agree_with_the_whole_jacobian(name, scores):
    backend = backends.load(name)
    found = rows.statistics(backend, backend.asarray(scores.copy()), ALL)
    reference = expected(scores)
    assert set(found) == set(ALL)
    for quantity in set(ALL) - {"closed_share"}:
        np.testing.assert_allclose(
            backend.to_numpy(found[quantity]), reference[quantity], atol=2e-12, err_msg=quantity
        )
    # A row exactly at the border may fall on either side by rounding.
    border = np.abs(reference["top_weight"] - rows.CLOSED_WEIGHT) < 1e-12
    closed = backend.to_numpy(found["closed_share"])
    assert np.array_equal(closed[~border], reference["closed_share"][~border])


def test_only_what_is_asked_for_is_returned():
    backend = backends.load("numpy")
    found = rows.statistics(backend, np.zeros((4, 3)), ["capacity"])
    assert list(found) == ["capacity"]
    np.testing.assert_allclose(found["capacity"], 0.75)
