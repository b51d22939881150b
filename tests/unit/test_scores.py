"""Collapsed and direct samplers of scores have the same law.

Two-sample Kolmogorov-Smirnov tests on seeded draws. Each compares at a p-value of 1e-4, so that of the whole
grid's tests (below 200) one would fail by chance in fewer than 2 % of all possible seeds; the seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats

from attention_scaling import backends
from attention_scaling.sampling import rows, scores

FALSE_ALARM = 1e-4
ROWS = 4000
GRID = [(1, 1), (1, 5), (4, 3), (16, 8), (64, 5), (8, 32)]


def draw(backend, sampler, method, seed, **cell):
    stream = backend.draws(np.random.SeedSequence(seed))
    return sampler(backend, stream, method, **cell)


def assert_same_law(backend, direct, collapsed):
    first = backend.to_numpy(direct)
    second = backend.to_numpy(collapsed)
    assert first.shape == second.shape
    flat = (first.reshape(first.shape[0], -1), second.reshape(first.shape[0], -1))
    samples = {"score of key 0": [values[0] for values in flat]}
    samples["score of the last key"] = [values[-1] for values in flat]
    for name in ("top_weight", "capacity"):
        samples[name] = [
            backend.to_numpy(rows.statistics(backend, backend.asarray(values.copy()), [name])[name])
            for values in flat
        ]
    for name, (one, other) in samples.items():
        assert stats.ks_2samp(one, other).pvalue > FALSE_ALARM, name


@pytest.mark.parametrize("name", backends.NAMES)
@pytest.mark.parametrize(("d_k", "n_keys"), GRID)
def test_independent_keys(name, d_k, n_keys):
    backend = backends.load(name)
    cell = {"d_k": d_k, "n_keys": n_keys, "rows": ROWS}
    direct = draw(backend, scores.independent_keys, "direct", 1, **cell)
    collapsed = draw(backend, scores.independent_keys, "collapsed", 2, **cell)
    assert direct.shape == (n_keys, ROWS)
    assert_same_law(backend, direct, collapsed)


@pytest.mark.parametrize("name", backends.NAMES)
@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.3, 0.95])
@pytest.mark.parametrize(
    ("d_k", "n_keys", "aligned"), [(1, 2, 1), (16, 8, 1), (16, 8, 8), (64, 5, 5)]
)
def test_aligned_keys(name, rho, d_k, n_keys, aligned):
    backend = backends.load(name)
    cell = {"d_k": d_k, "n_keys": n_keys, "rows": ROWS, "rho": rho, "aligned": aligned}
    direct = draw(backend, scores.aligned_keys, "direct", 3, **cell)
    collapsed = draw(backend, scores.aligned_keys, "collapsed", 4, **cell)
    assert_same_law(backend, direct, collapsed)


@pytest.mark.parametrize("name", backends.NAMES)
@pytest.mark.parametrize(("d_k", "n_keys"), [(1, 3), (4, 6), (16, 8), (64, 5)])
def test_shared_keys(name, d_k, n_keys):
    # One query a set for the marginal law; two for what queries of one set have in common.
    backend = backends.load(name)
    cell = {"d_k": d_k, "n_keys": n_keys, "sets": ROWS, "queries": 2}
    direct = draw(backend, scores.shared_keys, "direct", 5, **cell)
    collapsed = draw(backend, scores.shared_keys, "collapsed", 6, **cell)
    assert direct.shape == (n_keys, ROWS, 2)
    assert_same_law(backend, direct[:, :, 0], collapsed[:, :, 0])
    products = [backend.to_numpy(s[0, :, 0] * s[0, :, 1]) for s in (direct, collapsed)]
    assert stats.ks_2samp(*products).pvalue > FALSE_ALARM
    gram = [backend.to_numpy(s[0, :, 0] * s[-1, :, 0]) for s in (direct, collapsed)]
    assert stats.ks_2samp(*gram).pvalue > FALSE_ALARM


@pytest.mark.parametrize("method", scores.METHODS)
@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_moments_of_the_aligned_score_are_exact(method, rho):
    backend = backends.load("numpy")
    d_k, count = 12, 60_000
    values = draw(backend, scores.aligned_keys, method, 9, d_k=d_k, n_keys=2, rows=count, rho=rho)[
        0
    ]
    # E = rho d_k; Var = d_k (1 + rho^2) for Gaussian entries.
    variance = d_k * (1 + rho**2)
    assert abs(values.mean() - rho * d_k) < 5 * np.sqrt(variance / count)
    spread = ((values - rho * d_k) ** 2).std() / np.sqrt(count)
    assert abs(values.var() - variance) < 5 * spread


@pytest.mark.parametrize("method", scores.METHODS)
def test_a_key_that_equals_its_query_scores_its_squared_length(method):
    backend = backends.load("numpy")
    cell = {"d_k": 16, "n_keys": 3, "rows": ROWS, "rho": 1.0}
    values = draw(backend, scores.aligned_keys, method, 8, **cell)[0]
    assert stats.kstest(values, stats.chi2(16).cdf).pvalue > FALSE_ALARM
