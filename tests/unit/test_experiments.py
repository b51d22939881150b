"""Experiments at small sizes: what they measure against exact values and, for the head, autograd."""

import math

import numpy as np
import pytest
import torch

from attention_scaling import backends, experiments, shards
from attention_scaling.divisors import DIVISORS, divisor_value
from attention_scaling.experiments import gradient, score_gradients
from attention_scaling.experiments.monte_carlo import run_cell
from attention_scaling.sampling.entries import LAWS
from attention_scaling.sampling.streams import Shard
from attention_scaling.tables import CELL, EXACT_METHODS

SMALL = {
    "variance": {"widths": [2, 8], "samples": 4000, "enumerated_widths": [3]},
    "saturation": {
        "widths": [4, 64],
        "key_counts": [5],
        "samples": 4000,
        "direct_samples": 1000,
    },
    "capacity": {"widths": [4, 64], "key_counts": [5], "samples": 4000, "direct_samples": 1000},
    "correlation": {
        "correlations": [0.0, 0.4],
        "widths": [4, 64],
        "key_counts": [5],
        "aligned": ["one", "all"],
        "samples": 4000,
        "closing_key_counts": [8],
        "law_samples": 4000,
    },
}


def measured(name, settings, backend):
    module = experiments.get(name).module()
    settings = module.Settings(**settings)
    rows = []
    for cell in module.cells(settings):
        rows += run_cell(
            module.sample, settings, cell, backend, seed=11, experiment=name, shard=Shard()
        )
    merged = shards.merged(rows)
    derive = getattr(module, "derive", lambda settings, rows: [])
    return settings, merged + derive(settings, merged)


def key(row):
    return (row.quantity, *(getattr(row, column) for column in CELL))


@pytest.mark.parametrize("backend", backends.NAMES)
@pytest.mark.parametrize("name", SMALL)
def test_sampled_means_agree_with_the_exact_values(name, backend):
    settings, rows = measured(name, SMALL[name], backends.load(backend))
    exact = {key(row): row for row in experiments.get(name).module().exact(settings)}
    assert all(row.method in EXACT_METHODS for row in exact.values())
    compared = [row for row in rows if key(row) in exact and row.stderr]
    # A dozen cells and statistics at least, so a lost statistic cannot pass unseen.
    assert len(compared) >= 12
    for row in compared:
        deviation = (row.value - exact[key(row)].value) / row.stderr
        assert abs(deviation) < 5, row


def test_the_slope_over_widths_needs_three_of_them_and_is_the_exact_one():
    settings = {"widths": [4, 16, 64], "distributions": ["signs"], "samples": 4000}
    _, rows = measured("variance", settings, backends.load("numpy"))
    slopes = {row.divisor: row for row in rows if row.quantity == "size_slope"}
    assert set(slopes) == set(DIVISORS)
    for divisor, expected in {"none": 0.5, "root": 0.0, "width": -0.5}.items():
        assert abs(slopes[divisor].value - expected) < 5 * slopes[divisor].stderr


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("samples", [1, 2, 3])
def test_a_few_samples_of_narrow_scores_have_no_error_and_weigh_on_no_slope(law, samples):
    """Signs of width 1 are all of one size, and sparse ones are mostly 0."""
    settings = {"widths": [1, 2, 3], "distributions": [law], "samples": samples}
    _, rows = measured("variance", settings, backends.load("numpy"))
    assert {row.d_k for row in rows if row.quantity == "score_size"} == {1, 2, 3}
    assert all(math.isfinite(row.value) for row in rows)
    assert all(row.stderr is None or math.isfinite(row.stderr) for row in rows)


def test_widths_too_large_to_draw_are_a_reason_and_spoil_no_other():
    settings = {"widths": [4, 2**25, 2**26], "distributions": ["signs"], "samples": 100}
    _, rows = measured("variance", settings, backends.load("numpy"))
    assert {row.d_k for row in rows if row.skipped} == {2**25, 2**26}
    assert {row.d_k for row in rows if row.value is not None} == {4}


def test_a_key_that_is_its_query_has_no_exact_means_but_is_measured():
    settings = {"correlations": [-1.0, 1.0], "widths": [4], "key_counts": [2], "samples": 100}
    settings, rows = measured("continuum", settings, backends.load("numpy"))
    exact = list(experiments.get("continuum").module().exact(settings))
    assert {row.quantity for row in exact} == {"score_size", "aligned_score_mean"}
    assert {row.rho for row in rows if row.quantity == "top_weight"} == {-1.0, 1.0}


NEED_THREE_WIDTHS = {"size_slope", "closing_rho_slope"}


def test_every_quantity_is_documented_and_every_documented_quantity_is_measured():
    for name, small in SMALL.items():
        module = experiments.get(name).module()
        settings, rows = measured(name, small, backends.load("numpy"))
        found = {row.quantity for row in rows} | {row.quantity for row in module.exact(settings)}
        assert found | NEED_THREE_WIDTHS == set(module.QUANTITIES) | NEED_THREE_WIDTHS


class RecordedDraws:
    """Draws that remember what they drew, so that a second computation can use the same numbers."""

    def __init__(self, draws):
        self.draws, self.drawn = draws, []

    def normal(self, shape, dtype="float64"):
        self.drawn.append(self.draws.normal(shape, dtype))
        return self.drawn[-1]

    def chi_square(self, degrees, shape):
        return self.draws.chi_square(degrees, shape)


def autograd_norms(drawn, d_model, divisor, d_k):
    inputs, *weights, upstream = [torch.from_numpy(np.array(array[0])) for array in drawn]
    w_q, w_k, w_v = (w / d_model**0.5 for w in weights)
    w_q.requires_grad_()
    w_k.requires_grad_()
    scores = (inputs @ w_q) @ (inputs @ w_k).T / divisor_value(divisor, d_k)
    scores.retain_grad()
    output = torch.softmax(scores, dim=-1) @ (inputs @ w_v)
    (output * upstream).sum().backward()
    return {
        "query": w_q.grad.norm().item(),
        "key": w_k.grad.norm().item(),
        "scores": scores.grad.norm().item(),
    }


@pytest.mark.parametrize("divisor", DIVISORS)
def test_the_gradient_of_a_head_is_autograds(divisor):
    backend = backends.load("numpy")
    settings = gradient.Settings(widths=[16], key_counts=[6], d_model=10, samples=1)
    cell = gradient.cells(settings)[0]
    draws = RecordedDraws(backend.draws(np.random.SeedSequence(3)))
    found = gradient.sample(settings, cell, backend, draws, 1)
    expected = autograd_norms(draws.drawn, 10, divisor, 16)
    for place, norm in expected.items():
        (value,) = [
            values[0]
            for statistic, values in found.items()
            if (statistic.quantity, statistic.divisor) == (f"gradient_norm_{place}", divisor)
        ]
        np.testing.assert_allclose(value, norm, rtol=1e-10)


@pytest.mark.parametrize("backend", backends.NAMES)
def test_the_naive_softmax_breaks_within_one_spacing_of_the_logarithm_of_the_largest_number(
    backend,
):
    loaded = backends.load(backend)
    module = experiments.get("precision").module()
    settings = module.Settings(widths=[4], key_counts=[4], samples=10)
    rows = list(module.measure(settings, loaded))
    cutoffs = {row.dtype: row for row in rows if row.quantity == "naive_cutoff" and not row.skipped}
    spacings = {row.dtype: row.value for row in rows if row.quantity == "cutoff_spacing"}
    expected = {"float64", "float32", "float16"} | ({"bfloat16"} if backend == "torch" else set())
    assert set(cutoffs) == expected
    for dtype, row in cutoffs.items():
        assert abs(row.value - row.theory) <= spacings[dtype], dtype
    broken = {row.dtype: row.value for row in rows if row.quantity == "naive_broken"}
    assert broken == {dtype: float(dtype == "float16") for dtype in expected}


@pytest.mark.parametrize("backend", backends.NAMES)
def test_rounding_alone_changes_a_row_by_less_than_its_own_spacing(backend):
    settings = {
        "widths": [64],
        "key_counts": [8],
        "samples": 2000,
        "dtypes": ["float16", "float32"],
    }
    _, rows = measured("precision", settings, backends.load(backend))
    spacing = {"float16": 2.0**-10, "float32": 2.0**-23}
    shifts = [row for row in rows if row.quantity.endswith("_shift")]
    assert len(shifts) == 12
    for row in shifts:
        assert abs(row.value) < 8 * spacing[row.dtype], row


@pytest.mark.parametrize("divisor", DIVISORS)
def test_both_losses_give_the_scores_autograds_gradients(divisor):
    backend = backends.load("numpy")
    (cell,) = score_gradients.cells([6], [16], [], samples=3)
    draws = RecordedDraws(backend.draws(np.random.SeedSequence(3)))
    found = {
        statistic.quantity: values
        for statistic, values in score_gradients.sample(cell, backend, draws, 3).items()
        if statistic.divisor == divisor
    }
    # The drawn numbers were scaled to scores in place.
    raw, upstream = (torch.from_numpy(np.array(array)) for array in draws.drawn)
    scores = (raw.T / divisor_value(divisor, 16)).requires_grad_()
    wrong, right = scores.argmax(dim=1), (scores.argmax(dim=1) + 1) % 6
    assert not torch.equal(wrong, right)
    loss = torch.nn.functional.cross_entropy(scores, right, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, scores)
    np.testing.assert_allclose(found["cross_entropy_gradient"], gradient.norm(dim=1), rtol=1e-10)
    in_right_class = gradient[torch.arange(3), right].abs()
    np.testing.assert_allclose(found["right_class_gradient"], in_right_class, rtol=1e-10)
    attended = (torch.softmax(scores, dim=1) * upstream).sum()
    (gradient,) = torch.autograd.grad(attended, scores)
    np.testing.assert_allclose(found["attention_gradient"], gradient.norm(dim=1), rtol=1e-8)


@pytest.mark.parametrize("backend", backends.NAMES)
def test_tiny_scores_get_the_gradient_of_even_weights(backend):
    small = {"widths": [4], "key_counts": [4], "samples": 2, "tiny_key_counts": [4, 16, 64]}
    _, rows = measured("gradient", small, backends.load(backend))
    sizes = [row for row in rows if row.quantity == "tiny_derivative_size"]
    assert [row.n_keys for row in sizes] == [4, 16, 64]
    for row in sizes:
        assert row.theory == pytest.approx(np.sqrt(1 - 1 / row.n_keys) / row.n_keys)
        assert abs(row.value - row.theory) < 5 * row.stderr
    (slope,) = [row for row in rows if row.quantity == "tiny_derivative_slope"]
    assert abs(slope.value - slope.theory) < 5 * slope.stderr < 0.05
    found = {row.quantity for row in rows}
    assert found == set(gradient.QUANTITIES)
