"""The pieces of the quadrature: panels, the trapezoidal rule, the mean over the query's length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gamma, ndtr

from attention_scaling.theory.chi_mixture import mix_over_query
from attention_scaling.theory.panels import count_panels, cumulate, cut, panel_nodes
from attention_scaling.theory.trapezoid import trapezoid


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=5, unique=True), st.floats(0.1, 3))
def test_cut_keeps_the_edges_and_the_width(edges, width):
    edges = sorted(edges)
    panels = cut(edges, width)
    assert set(edges) <= set(panels)
    assert np.all(np.diff(panels) > 0)
    assert np.max(np.diff(panels)) <= width * (1 + 1e-12)
    assert len(panels) == count_panels(edges, width) + 1


@pytest.mark.parametrize(("width", "accuracy"), [(2.0, 2e-10), (0.7, 1e-14)])
def test_panels_integrate_a_normal_density_up_to_every_node(width, accuracy):
    edges = cut((-10.0, 0.0, 9.0), width)
    nodes, weights = panel_nodes(edges)
    density = np.exp(-0.5 * nodes**2) / np.sqrt(2 * np.pi)
    partial = cumulate(density[None, :], edges)
    np.testing.assert_allclose(partial[0], ndtr(nodes), rtol=0, atol=accuracy)
    assert weights @ density == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize(
    ("function", "integral"),
    [
        (lambda u: np.exp(-(u**2)), np.sqrt(np.pi)),
        (lambda u: 1 / np.cosh(u), np.pi),
        (lambda u: np.exp(2.5 * u - np.exp(u)), gamma(2.5)),
    ],
)
@pytest.mark.parametrize("step", [0.1, 0.25, 0.5, 0.8])
def test_trapezoid_knows_its_error(function, integral, step):
    u = step * np.arange(np.floor(-40 / step), np.ceil(40 / step))
    value, error = trapezoid(function(u), step)
    assert abs(value - integral) <= error
    assert error < {0.1: 1e-14, 0.25: 1e-9, 0.5: 1e-2, 0.8: 0.2}[step]


@pytest.mark.parametrize("divisor", [1.0, 7.0])
@pytest.mark.parametrize("d_k", [1, 2, 3, 16, 64, 4096])
def test_mean_over_the_query_of_known_laws(d_k, divisor):
    """Laplace transform and first moment of chi-squared are known in closed form."""

    def function(std):
        square = (std * divisor) ** 2
        return np.array([np.exp(-square / d_k), square / d_k]), np.array([0.0, 0.0])

    at_zero = np.array([1.0, 0.0])
    mean, error = mix_over_query(function, d_k, divisor, at_zero, slope=8.0 * divisor)
    exact = np.array([(1 + 2 / d_k) ** (-d_k / 2), 1.0])
    assert np.all(np.abs(mean - exact) <= error + 1e-13)
    assert np.all(error < 1e-8 * exact)


def test_the_error_of_the_function_is_passed_on():
    def function(std):
        return np.array([std]), np.array([1e-3])

    mean, error = mix_over_query(function, 4, 2.0, np.array([0.0]), slope=1.0)
    exact = quad(lambda r: r / 2 * r**3 * np.exp(-(r**2) / 2) / 2, 0, 40)[0]  # chi of 4 degrees
    assert mean[0] == pytest.approx(exact, rel=1e-9)
    assert 0.9e-3 < error[0] < 1.1e-3
