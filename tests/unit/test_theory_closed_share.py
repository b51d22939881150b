"""The share of closed rows against integrals taken another way, limits and random draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, softmax

from attention_scaling.theory import closed_share as module
from attention_scaling.theory.closed_share import closed_share, laplace_transform
from attention_scaling.theory.gaussian_scores import u_range
from attention_scaling.theory.softmax_means import softmax_mean, softmax_mean_at


def normal(x):
    return np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)


def three_keys(std, threshold):
    """P(closed) of three scores: the middle one integrated, the last by its distribution function."""
    odds = 1 / threshold - 1

    def given_gap(gap):
        # Scores 0 and -gap below the winner's; the third must stay below log(odds - exp(-gap)).
        room = odds - np.exp(-gap)
        if room <= 0:
            return 0.0
        # Given a gap of variance 2 std^2, the winner's gap to the third has mean gap / 2, variance 3/2.
        spread = np.sqrt(1.5) * std
        return (
            normal(gap / (np.sqrt(2) * std))
            / (np.sqrt(2) * std)
            * ndtr((gap / 2 + np.log(room)) / spread)
        )

    first = -np.log(odds)
    ends = np.unique([first, first + 2, first + 40, 9 * np.sqrt(2) * std + first])
    return 3 * sum(
        quad(given_gap, *pair, epsabs=1e-13, epsrel=1e-11, limit=400)[0]
        for pair in zip(ends[:-1], ends[1:], strict=True)
    )


@pytest.mark.parametrize("threshold", [0.5, 0.75, 0.9, 0.99])
@pytest.mark.parametrize("std", [0.1, 0.3, 0.7, 1.0, 3.0, 8.0, 64.0, 1024.0])
def test_three_keys_are_a_line_integral(std, threshold):
    value, error = closed_share(3, std, threshold)
    assert value == pytest.approx(three_keys(std, threshold), abs=1e-10)
    assert error < 1e-9


@pytest.mark.parametrize("std", [0.2, 1.0, 8.0, 64.0])
def test_two_keys_by_inversion_are_the_normal_law(monkeypatch, std):
    """Two keys have a closed form; the general inversion must give it too."""
    exact, _ = closed_share(2, std, 0.9)
    others = module.ScoreGroup(1, 0.0, std)
    first, last = u_range((others,))
    xi = 0.05 * np.arange(np.floor(first / 0.05), np.ceil((last + 3) / 0.05))
    theta = np.pi / 2 - min(np.pi / 4, 1.5 * std)
    phi = laplace_transform(xi, theta, std)
    beyond = laplace_transform(xi + np.log(1 / 0.9 - 1), theta - np.pi, std)
    assert 2 / np.pi * 0.05 * np.sum((phi * (beyond - phi)).imag) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("theta", [-1.2, 0.0, 0.7, 1.5])
@pytest.mark.parametrize("std", [0.3, 0.99, 1.01, 5.0])
def test_laplace_transform_is_the_mean_that_it_claims(std, theta):
    xi = np.array([-3.0, 0.0, 1.0])
    for u, value in zip(xi + 1j * theta, laplace_transform(xi, theta, std), strict=True):

        def integrand(z, part, u=u):
            return part(np.exp(-np.exp(u + std * z))) * normal(z)

        # Beyond exp(7) the transform's integrand is 0, or spins too fast to matter.
        last = min(10.0, (7.0 - u.real) / std)
        parts = [
            quad(integrand, -10, last, args=(part,), epsabs=1e-11, limit=1000)[0]
            for part in (np.real, np.imag)
        ]
        assert value == pytest.approx(complex(*parts), abs=1e-9)


@given(st.integers(3, 5000), st.floats(0.05, 500), st.floats(0.5, 0.99))
def test_a_probability_that_grows_with_the_scores(n_keys, std, threshold):
    value, error = closed_share(n_keys, std, threshold)
    larger, _ = closed_share(n_keys, 1.2 * std, threshold)
    stricter, _ = closed_share(n_keys, std, 0.5 * (1 + threshold))
    assert 0 <= value <= 1
    assert error <= 1e-9
    assert stricter - 1e-9 <= value <= larger + 1e-9


@pytest.mark.parametrize("n_keys", [3, 32, 4096])
def test_a_little_more_than_the_mean_of_the_largest_weight_allows(n_keys):
    """Markov's inequality from either side: 1 - E[1 - a] / (1 - x) <= P(a > x) <= E[a] / x."""
    for std in (1.0, 8.0, 64.0):
        top = softmax_mean_at("top_weight", n_keys, std).value
        for threshold in (0.5, 0.9):
            share = softmax_mean_at("closed_share", n_keys, std, threshold=threshold).value
            assert 1 - (1 - top) / (1 - threshold) <= share <= top / threshold


@pytest.mark.parametrize(("n_keys", "std"), [(4, 0.4), (32, 1.0), (32, 8.0), (4096, 64.0)])
def test_refinement_moves_it_less_than_its_error(monkeypatch, n_keys, std):
    value, error = closed_share(n_keys, std, 0.6)
    starting_step = module.starting_step
    monkeypatch.setattr(module, "starting_step", lambda groups: 0.4 * starting_step(groups))
    monkeypatch.setattr(module, "_NARROW_NODES", np.linspace(-10, 10, 481))
    monkeypatch.setattr(module, "PANEL", 1.3)
    refined, _ = closed_share(n_keys, std, 0.6)
    assert refined != value
    assert abs(refined - value) <= error + 1e-12


def test_the_bound_that_saves_work_is_a_bound():
    for n_keys, std in [(3, 0.3), (8, 0.5), (32, 1.0), (4096, 2.0)]:
        for threshold in (0.5, 0.9):
            value, error = closed_share(n_keys, std, threshold)
            assert value - error <= module._upper_bound(n_keys, std, threshold)
    assert closed_share(4096, 0.5, 0.5)[0] == 0.0


@pytest.mark.parametrize(
    ("n_keys", "d_k", "divisor"),
    [(8, 4, "none"), (32, 64, "none"), (8, 8, "root"), (512, 16, "none")],
)
def test_random_draws_agree(n_keys, d_k, divisor):
    rng = np.random.default_rng(n_keys + d_k)
    n_rows = 20_000
    length = np.sqrt(rng.chisquare(d_k, (n_rows, 1)))
    scores = (
        length * rng.standard_normal((n_rows, n_keys)) / {"none": 1, "root": np.sqrt(d_k)}[divisor]
    )
    top = softmax(scores, axis=1).max(axis=1)
    for threshold in (0.5, 0.9):
        exact = softmax_mean("closed_share", n_keys, d_k, divisor, threshold=threshold)
        assert exact.error < 1e-8
        spread = np.sqrt(exact.value * (1 - exact.value) / n_rows)
        assert abs(np.mean(top > threshold) - exact.value) <= 4 * spread


def test_two_keys_over_queries():
    """|q| z is a product of independent normals when d_k = 2: Laplace, P(|e| > m) = exp(-m)."""
    # The difference of two scores is sqrt(2) |q| z, |q|^2 exponential of mean 2: Laplace of scale sqrt(2).
    margin = np.log(0.9 / 0.1)
    exact = np.exp(-margin / np.sqrt(2))
    assert softmax_mean("closed_share", 2, 2).value == pytest.approx(exact, abs=1e-9)
    assert softmax_mean("closed_share", 2, 2, threshold=0.5).value == pytest.approx(1.0, abs=1e-12)
