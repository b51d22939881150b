"""The remedies and the continuum of divisors before training, against closed forms and quadrature."""

import math
from dataclasses import replace

import numpy as np
import pytest

from attention_scaling import shards
from attention_scaling.experiments import continuum, remedies
from attention_scaling.experiments.monte_carlo import run_cell
from attention_scaling.experiments.slopes import slopes
from attention_scaling.measurement import Measurement
from attention_scaling.sampling.streams import Shard
from attention_scaling.theory.softmax_means import softmax_mean

REMEDIES = remedies.Settings(widths=[8, 32, 128], key_counts=[6], samples=100, d_model=32)
CONTINUUM = continuum.Settings(
    widths=[16, 64, 256], key_counts=[8], samples=4000, exponents=[0.5, 0.75, 1.0]
)


@pytest.fixture(scope="module")
def exact_continuum():
    return list(continuum.exact(CONTINUUM))


def table(module, settings, backend):
    rows = [
        row
        for cell in module.cells(settings)
        for row in run_cell(
            module.sample,
            settings,
            cell,
            backend,
            seed=1,
            experiment=module.NAME,
            shard=Shard(),
        )
    ]
    merged = shards.merged(rows)
    return merged + module.derive(settings, merged)


def agree(rows, exact, n_compared):
    """Assert that sampled rows lie within 4.5 of their standard errors of the exact ones."""
    known = {(row.quantity, row.variant, row.d_k, row.rho): row.value for row in exact}
    compared = [
        (row, known[key])
        for row in rows
        if (key := (row.quantity, row.variant, row.d_k, row.rho)) in known and row.value is not None
    ]
    assert len(compared) == n_compared
    for row, value in compared:
        assert abs(row.value - value) <= 4.5 * row.stderr + 1e-12, row


def test_sizes_and_their_slopes_are_those_of_theory(backend):
    # Sizes of four multiples of q.k at three widths, and the slopes of seven remedies.
    agree(table(remedies, REMEDIES, backend), remedies.exact(REMEDIES), 4 * 3 + 7)


def test_the_same_head_serves_every_remedy(backend):
    found = {
        (row.quantity, row.variant): row.value
        for row in table(remedies, REMEDIES, backend)
        if row.d_k == 32
    }
    for quantity in ("score_size", "top_weight", "capacity", "gradient_norm_key"):
        np.testing.assert_allclose(
            found[quantity, "folded"], found[quantity, "root"], rtol=1e-12, err_msg=quantity
        )
    # The chain rule through W_Q = sqrt(d_k) times the folded one.
    ratio = found["gradient_norm_query", "folded"] / found["gradient_norm_query", "root"]
    np.testing.assert_allclose(ratio, math.sqrt(32), rtol=1e-12)


@pytest.mark.parametrize(("exponent", "divisor"), [(0.0, "none"), (0.5, "root"), (1.0, "width")])
@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_the_continuum_passes_through_the_three_divisors(exponent, divisor, rho):
    found = continuum.row_means_at(8, 64, exponent, rho)
    for quantity, value in found.items():
        exact = softmax_mean(quantity, 8, 64, divisor, rho=rho).value
        np.testing.assert_allclose(value, exact, rtol=1e-9, err_msg=quantity)


def test_sampled_rows_of_the_continuum_have_the_exact_means(backend, exact_continuum):
    found = [row for row in table(continuum, CONTINUUM, backend) if "slope" not in row.quantity]
    # Means of three quantities and of the aligned score, for both rho, three widths and three exponents.
    agree(found, exact_continuum, 4 * 2 * 3 * 3)


def test_the_jacobian_norm_is_that_of_the_whole_matrix(backend):
    settings = continuum.Settings(widths=[16], key_counts=[5], samples=3, correlations=[0.3])
    (cell,) = continuum.cells(settings)
    found = continuum.sample(settings, cell, backend, _Fixed(backend), 3)
    scores = backend.to_numpy(_Fixed(backend).normal((5, 3)))
    scores *= 4.0
    scores[0] = math.sqrt(1 - 0.09) * scores[0] + 0.3 * 16
    for exponent in settings.exponents:
        for column in range(3):
            row = np.exp(scores[:, column] / 16**exponent)
            row /= row.sum()
            norm = np.linalg.norm(np.diag(row) - np.outer(row, row))
            variant = continuum.label(exponent)
            by_name = {
                s.quantity: backend.to_numpy(v)[column]
                for s, v in found.items()
                if s.variant == variant
            }
            np.testing.assert_allclose(by_name["score_gradient"], norm, rtol=1e-10)
            np.testing.assert_allclose(
                by_name["query_gradient"], norm * 16 ** (0.5 - exponent), rtol=1e-10
            )


class _Fixed:
    """Draws that are the same numbers every time, of chi-squared 16."""

    def __init__(self, backend):
        self._backend = backend

    def normal(self, shape, dtype="float64"):
        return self._backend.asarray(np.linspace(-1, 2, math.prod(shape)).reshape(shape))

    def chi_square(self, degrees, shape):
        return self._backend.asarray(np.full(shape, 16.0))


def test_exact_slopes_of_the_scores_are_the_exponents(exact_continuum):
    found = {
        (row.quantity, row.variant, row.rho): row.value
        for row in exact_continuum
        if row.quantity in ("score_size_slope", "aligned_score_mean_slope")
    }
    for exponent in CONTINUUM.exponents:
        variant = continuum.label(exponent)
        for rho in (0.0, 0.5):
            assert abs(found["score_size_slope", variant, rho] - (0.5 - exponent)) < 1e-12
        assert abs(found["aligned_score_mean_slope", variant, 0.5] - (1 - exponent)) < 1e-12
        assert ("aligned_score_mean_slope", variant, 0.0) not in found


def points(values, stderr=0.0):
    row = Measurement(experiment="test", quantity="size", method="direct", stderr=stderr)
    return [replace(row, d_k=4**n, value=value) for n, value in enumerate(values, start=1)]


def test_a_value_that_may_be_zero_has_no_slope_but_a_reason():
    (slope,) = slopes(points([1.0, 0.02, 2.0], stderr=0.01), ["size"])
    assert slope.value is None
    assert slope.skipped == "not clearly above 0 at every width"


def test_two_widths_make_no_slope():
    assert slopes(points([1.0, 2.0]), ["size"]) == []
