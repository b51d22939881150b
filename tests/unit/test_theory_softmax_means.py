"""Exact softmax means against integrals taken another way, identities, limits and random draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, log_softmax, ndtr, xlogy

from attention_scaling.errors import UserError
from attention_scaling.theory import gaussian_scores, softmax_means
from attention_scaling.theory.bounds import LARGEST_DERIVATIVE, largest_capacity
from attention_scaling.theory.softmax_means import QUANTITIES, softmax_mean, softmax_mean_at

ROW_QUANTITIES = ["top_weight", "capacity", "top_derivative", "entropy"]


def of_two(quantity, gap):
    """The quantity of a row of two scores, the winner `gap` ahead."""
    winner, other = expit(gap), expit(-gap)
    return {
        "top_weight": winner,
        "capacity": 2 * winner * other,
        "top_derivative": winner * other,
        "entropy": -xlogy(winner, winner) - xlogy(other, other),
    }[quantity]


def gauss_legendre(edges, nodes=40):
    x, w = np.polynomial.legendre.leggauss(nodes)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (x + 1)).ravel(), (half * w).ravel()


def normal(x, std=1.0):
    return np.exp(-0.5 * (x / std) ** 2) / (std * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("std", [1e-3, 0.1, 1.0, 3.0, 8.0, 64.0, 1024.0])
@pytest.mark.parametrize("quantity", ROW_QUANTITIES)
def test_two_keys_are_a_logistic_normal_integral(quantity, std):
    spread = np.sqrt(2) * std
    ends = [0.0, min(40.0, 12 * spread), 12 * spread]
    exact = 2 * sum(
        quad(
            lambda gap: of_two(quantity, gap) * normal(gap, spread),
            *pair,
            epsabs=0,
            epsrel=1e-12,
            limit=400,
        )[0]
        for pair in zip(ends[:-1], ends[1:], strict=True)
        if pair[0] < pair[1]
    )
    assert softmax_mean_at(quantity, 2, std).value == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("std", [0.5, 2.0, 8.0, 64.0])
def test_three_keys_are_a_plane_integral(std):
    """Winner's gaps to the other two: normal in the plane, variance 2 std^2, correlation 1/2."""
    near = np.linspace(0, min(40.0, 16 * std), 9)
    far = np.linspace(near[-1], 16 * std, 9)[1:] if near[-1] < 16 * std else []
    gap, weight = gauss_legendre(np.append(near, far), 30)
    a, b = np.meshgrid(gap, gap, indexing="ij")
    density = np.exp(-(a**2 - a * b + b**2) / (3 * std**2)) / (2 * np.pi * np.sqrt(3) * std**2)
    measure = 3 * density * np.outer(weight, weight)
    assert measure.sum() == pytest.approx(1.0, abs=1e-12)
    weights = np.stack([np.ones_like(a), np.exp(-a), np.exp(-b)])
    weights /= weights.sum(axis=0)
    exact = {
        "top_weight": np.sum(measure * weights[0]),
        "capacity": np.sum(measure * (1 - np.sum(weights**2, axis=0))),
        "top_derivative": np.sum(measure * weights[0] * (1 - weights[0])),
        "entropy": np.sum(measure * -xlogy(weights, weights).sum(axis=0)),
    }
    for quantity, value in exact.items():
        assert softmax_mean_at(quantity, 3, std).value == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("n_keys", "std"), [(8, 2.0), (4096, 4.0), (4096, 64.0)])
def test_largest_weight_by_plain_product_rule(n_keys, std):
    """Top score x, then tau = log t + x, then each other score: three nested Gauss-Legendre sums."""
    x, weight_x = gauss_legendre(np.linspace(-6, 9, 19), 12)
    tau, weight_tau = gauss_legendre(np.array([-36.0, -18, -8, -3, 0, 1.5, 3, 3.8]), 16)
    exact = 0.0
    for top, weight in zip(x, weight_x, strict=True):
        # Fine where exp(-exp(...)) steps, within some 40 / std of the top.
        near = top - np.array([40, 25, 15, 8, 4, 1]) / std
        edges = np.unique(np.clip(np.concatenate([np.arange(-10.0, top), near]), -10, top))
        z, weight_z = gauss_legendre(np.append(edges, top), 16)
        survival = np.exp(-np.exp(np.minimum(tau[:, None] + std * (z - top), 8.0)))
        others = survival @ (weight_z * normal(z))
        inner = weight_tau @ (np.exp(tau - np.exp(tau)) * others ** (n_keys - 1))
        exact += n_keys * weight * normal(top) * inner
    assert softmax_mean_at("top_weight", n_keys, std).value == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("n_keys", [2, 32, 4096])
def test_log_partition_function_grows_by_the_capacity(n_keys):
    """E[log S] = entropy + std^2 capacity, and its derivative in std is std capacity (Stein)."""

    def log_partition(std):
        return (
            softmax_mean_at("entropy", n_keys, std).value
            + std**2 * softmax_mean_at("capacity", n_keys, std).value
        )

    u, weights = gauss_legendre(np.linspace(np.log(0.25), np.log(64), 9), 12)
    std = np.exp(u)
    capacities = [softmax_mean_at("capacity", n_keys, s).value for s in std]
    assert log_partition(64.0) - log_partition(0.25) == pytest.approx(
        weights @ (std**2 * capacities), rel=1e-9
    )


@pytest.mark.parametrize("n_keys", [2, 8, 4096, 65_536])
def test_large_scores_leave_the_gap_of_the_two_largest(n_keys):
    """Only the runner-up counts: with p its density at gap 0, capacity tends to p / std."""
    density, _ = quad(
        lambda x: normal(x) ** 2 * ndtr(x) ** (n_keys - 2), -9, 9, epsabs=0, epsrel=1e-10, limit=200
    )
    density *= n_keys * (n_keys - 1)
    std = 1024.0
    closed = {"capacity": 1.0, "top_derivative": 0.5, "entropy": np.pi**2 / 6}
    for quantity, factor in closed.items():
        limit = factor * density / std
        assert softmax_mean_at(quantity, n_keys, std).value == pytest.approx(limit, rel=8 / std)
    lost = np.log(2) * density / std
    assert 1 - softmax_mean_at("top_weight", n_keys, std).value == pytest.approx(lost, rel=8 / std)


def test_small_scores_are_even():
    for quantity, value in [
        ("top_weight", 1 / 32),
        ("capacity", 1 - 1 / 32),
        ("top_derivative", 31 / 32**2),
        ("entropy", np.log(32)),
        ("aligned_weight", 1 / 32),
        ("closed_share", 0.0),
    ]:
        assert softmax_mean_at(quantity, 32, 0.0).value == value
        assert softmax_mean_at(quantity, 32, 1e-7).value == pytest.approx(value, rel=1e-6)


def test_one_key_takes_everything():
    values = {quantity: softmax_mean(quantity, 1, 64).value for quantity in QUANTITIES}
    at_std = {quantity: softmax_mean_at(quantity, 1, 8.0).value for quantity in QUANTITIES}
    expected = dict.fromkeys(["top_weight", "aligned_weight", "closed_share"], 1.0)
    expected |= dict.fromkeys(["capacity", "top_derivative", "entropy"], 0.0)
    assert values == at_std == expected


@given(st.integers(2, 3000), st.floats(1e-3, 200))
def test_bounds_of_any_row(n_keys, std):
    value = {q: softmax_mean_at(q, n_keys, std).value for q in [*ROW_QUANTITIES, "aligned_weight"]}
    slack = 1 + 1e-9
    assert value["aligned_weight"] == pytest.approx(1 / n_keys, rel=1e-9)  # the weights sum to 1
    assert 1 / n_keys <= value["top_weight"] * slack <= slack
    assert value["capacity"] <= largest_capacity(n_keys) * slack
    assert value["top_derivative"] <= LARGEST_DERIVATIVE * slack
    assert value["top_derivative"] <= value["capacity"] <= n_keys * value["top_derivative"] * slack
    assert value["entropy"] <= np.log(n_keys) * slack
    assert value["entropy"] >= value["capacity"]  # - log a >= 1 - a
    assert 1 - value["capacity"] <= value["top_weight"] * slack  # sum a^2 <= max a


def test_monotonic_in_the_size_of_the_scores():
    stds = np.geomspace(0.01, 512, 30)
    for n_keys in (2, 64):
        for quantity, sign in [("top_weight", 1), ("capacity", -1), ("entropy", -1)]:
            values = [sign * softmax_mean_at(quantity, n_keys, std).value for std in stds]
            assert np.all(np.diff(values) > 0)


@pytest.mark.parametrize(
    ("n_keys", "std"), [(2, 1.0), (32, 0.3), (32, 8.0), (4096, 1.0), (4096, 64.0)]
)
def test_refinement_moves_a_row_less_than_its_error(monkeypatch, n_keys, std):
    groups = (gaussian_scores.ScoreGroup(n_keys, 0.0, std),)
    values, errors = gaussian_scores.row_means(groups)
    starting_step = gaussian_scores.starting_step
    monkeypatch.setattr(gaussian_scores, "starting_step", lambda g: 0.6 * starting_step(g))
    monkeypatch.setattr(gaussian_scores, "PANEL", 1.2)
    refined, _ = gaussian_scores.row_means(groups)
    assert not np.array_equal(refined, values)
    assert np.all(np.abs(refined - values) <= errors)
    assert np.all(errors <= 1e-10 * values)


def test_panels_over_the_score_and_over_the_window_agree(monkeypatch):
    groups = (
        gaussian_scores.ScoreGroup(1, 1.5, 1.2),
        gaussian_scores.ScoreGroup(31, 0.0, 1.5),
    )
    by_score, errors = gaussian_scores.row_means(groups)
    monkeypatch.setattr(gaussian_scores, "count_panels", lambda edges, width: 0)
    by_window, _ = gaussian_scores.row_means(groups)
    assert not np.array_equal(by_score, by_window)
    assert np.all(np.abs(by_score - by_window) <= 2 * errors)


@pytest.mark.parametrize(
    ("n_keys", "d_k", "divisor"),
    [(8, 1, "none"), (32, 4, "none"), (8, 64, "root"), (8, 16, "width")],
)
def test_mean_over_queries_by_adaptive_integration(n_keys, d_k, divisor):
    """The same rows, mixed over chi by another rule: |q| = r, log density written out."""
    scale = {"none": 1, "root": np.sqrt(d_k), "width": d_k}[divisor]
    r, weights = gauss_legendre(
        np.unique(np.clip(np.sqrt(d_k) + np.linspace(-7, 9, 17), 1e-12, None)), 10
    )
    log_density = (d_k - 1) * np.log(r) - r**2 / 2
    density = weights * np.exp(log_density - log_density.max())
    density /= density.sum()
    for quantity in ROW_QUANTITIES:
        rows = [softmax_mean_at(quantity, n_keys, length / scale).value for length in r]
        exact = softmax_mean(quantity, n_keys, d_k, divisor)
        assert exact.value == pytest.approx(density @ rows, rel=1e-8)
        assert exact.error <= 1e-8 * exact.value


@pytest.mark.parametrize("n_keys", [8, 4096])
def test_wide_queries_with_the_root_are_scores_of_size_one(n_keys):
    for quantity in ROW_QUANTITIES:
        limit = softmax_mean_at(quantity, n_keys, 1.0).value
        near = [softmax_mean(quantity, n_keys, d_k, "root").value for d_k in (4096, 65_536)]
        assert near[1] == pytest.approx(limit, rel=1e-3)
        # The first correction is of order 1 / d_k.
        assert (near[0] - limit) / (near[1] - limit) == pytest.approx(16, rel=0.01)


def test_wide_queries_undivided_close_the_row():
    top = [softmax_mean("top_weight", 32, d_k).value for d_k in (4, 64, 1024, 2**20)]
    assert np.all(np.diff(top) > 0)
    assert top[-1] > 0.998


def draw_rows(rng, n_rows, n_keys, d_k, rho, divisor):
    """Log weights of rows from queries and keys in full, key 0 aligned."""
    q = rng.standard_normal((n_rows, 1, d_k))
    k = rng.standard_normal((n_rows, n_keys, d_k))
    k[:, :1] = rho * q + np.sqrt(1 - rho**2) * k[:, :1]
    return log_softmax(np.sum(q * k, axis=-1) / divisor, axis=-1)


@pytest.mark.parametrize(
    ("n_keys", "d_k", "rho", "divisor"),
    [
        (8, 16, 0.0, "none"),
        (8, 4, 0.5, "none"),
        (8, 16, -0.4, "root"),
        (32, 16, 0.9, "root"),
        (5, 3, 0.7, "width"),
    ],
)
def test_random_draws_agree(n_keys, d_k, rho, divisor):
    scale = {"none": 1, "root": np.sqrt(d_k), "width": d_k}[divisor]
    logs = draw_rows(np.random.default_rng(d_k), 20_000, n_keys, d_k, rho, scale)
    weights = np.exp(logs)
    top = weights.max(axis=1)
    drawn = {
        "top_weight": top,
        "capacity": 1 - np.sum(weights**2, axis=1),
        "top_derivative": top * (1 - top),
        "entropy": -np.sum(weights * logs, axis=1),
        "aligned_weight": weights[:, 0],
    }
    for quantity, sample in drawn.items():
        exact = softmax_mean(quantity, n_keys, d_k, divisor, rho=rho).value
        assert abs(sample.mean() - exact) <= 4 * sample.std() / np.sqrt(sample.size)


@pytest.mark.parametrize(("d_k", "divisor"), [(4, 1.0), (64, 8.0)])
@pytest.mark.parametrize("rho", [-0.5, 0.2, 0.9])
def test_aligned_key_against_one_other(d_k, divisor, rho):
    """Two keys: the aligned one is ahead by a normal of mean rho r^2 / divisor, given |q| = r."""
    r, weight_r = gauss_legendre(
        np.unique(np.clip(np.sqrt(d_k) + np.linspace(-7, 8, 16), 1e-9, None)), 12
    )
    density = weight_r * np.exp((d_k - 1) * np.log(r / np.sqrt(d_k)) - (r**2 - d_k) / 2)
    density /= density.sum()
    z, weight_z = gauss_legendre(np.linspace(-9, 9, 10), 30)
    ahead = (rho * r[:, None] ** 2 + np.sqrt(2 - rho**2) * r[:, None] * z) / divisor
    measure = density[:, None] * weight_z * normal(z)
    name = {4: "none", 64: "root"}[d_k]
    assert softmax_mean("aligned_weight", 2, d_k, name, rho=rho).value == pytest.approx(
        np.sum(measure * expit(ahead)), rel=1e-8
    )
    assert softmax_mean("capacity", 2, d_k, name, rho=rho).value == pytest.approx(
        np.sum(measure * of_two("capacity", np.abs(ahead))), rel=1e-8
    )
    # The largest weight has a kink where the two tie, which the product rule sees.
    assert softmax_mean("top_weight", 2, d_k, name, rho=rho).value == pytest.approx(
        np.sum(measure * expit(np.abs(ahead))), rel=1e-3
    )


def test_an_aligned_key_that_is_hardly_aligned():
    for quantity in [*ROW_QUANTITIES, "aligned_weight"]:
        plain = softmax_mean(quantity, 8, 16, "root").value
        aligned = softmax_mean(quantity, 8, 16, "root", rho=1e-6).value
        assert aligned == pytest.approx(plain, rel=1e-5)
        assert aligned != plain


def test_an_aligned_key_that_is_out_of_reach():
    """It leads by some 900 nats, whose exponential overflows."""
    far = {
        q: softmax_mean(q, 32, 2**20, "root", rho=0.9) for q in [*ROW_QUANTITIES, "aligned_weight"]
    }
    for quantity in ("top_weight", "aligned_weight"):
        assert far[quantity].value == pytest.approx(1.0, abs=1e-9)
    for quantity in ("capacity", "top_derivative", "entropy"):
        assert far[quantity].value <= far[quantity].error + 1e-11


def test_a_mean_does_not_depend_on_what_else_is_asked_for():
    groups = (gaussian_scores.ScoreGroup(1, 2.0, 1.2), gaussian_scores.ScoreGroup(31, 0.0, 1.5))
    together, _ = gaussian_scores.row_means(groups)
    for name, value in zip(gaussian_scores.MEANS, together, strict=True):
        (alone,), _ = gaussian_scores.row_means(groups, (name,))
        assert alone == pytest.approx(value, rel=1e-14)


def test_values_that_were_known_before():
    assert softmax_mean("capacity", 32, 4).value == pytest.approx(0.789343, abs=5e-7)
    assert softmax_mean("capacity", 8, 64).value == pytest.approx(0.177407, abs=5e-7)


def test_clearing_the_caches_forgets_cells_and_nodes():
    softmax_mean("top_weight", 3, 4)
    softmax_means.clear_caches()
    assert softmax_means._plain_row.cache_info().currsize == 0
    assert softmax_means.means_over_queries.cache_info().currsize == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: softmax_mean("top", 8, 64), "one of top_weight"),
        (lambda: softmax_mean("capacity", 0, 64), "n_keys = 0: .* 1 to 65536"),
        (lambda: softmax_mean("capacity", 65_537, 64), "n_keys = 65537"),
        (lambda: softmax_mean("capacity", 8, 0), "d_k = 0"),
        (lambda: softmax_mean("capacity", 8, -4), "d_k = -4"),
        (lambda: softmax_mean("capacity", 8, 2**20 + 1), "0 to 1024"),
        (lambda: softmax_mean("capacity", 8, 64, "square"), "divisor 'square'"),
        (lambda: softmax_mean("capacity", 8, 64, rho=1.0), "rho = 1.0"),
        (lambda: softmax_mean("closed_share", 8, 64, rho=0.5), "rho = 0.5: exact closed_share"),
        (lambda: softmax_mean("closed_share", 8, 64, threshold=0.4), "threshold = 0.4"),
        (lambda: softmax_mean_at("capacity", 8, -1.0), "standard deviation -1"),
        (lambda: softmax_mean_at("capacity", 8, float("nan")), "standard deviation nan"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(UserError, match=message):
        call()
