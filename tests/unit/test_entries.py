"""Entry laws are centred, of variance 1, and have the fourth moment that they state."""

import numpy as np
import pytest

from attention_scaling import backends
from attention_scaling.sampling.entries import LAWS

COUNT = 400_000


@pytest.mark.parametrize("backend_name", backends.NAMES)
@pytest.mark.parametrize("name", LAWS)
def test_first_moments(backend_name, name):
    backend = backends.load(backend_name)
    draws = backend.draws(np.random.SeedSequence(5))
    entries = backend.to_numpy(LAWS[name].draw(backend, draws, (COUNT,)))
    # Five standard errors; the draws are seeded, so this passes always or never.
    assert abs(entries.mean()) < 5 * entries.std() / COUNT**0.5
    square = entries**2
    assert abs(square.mean() - 1) < 5 * max(square.std(), 1e-12) / COUNT**0.5


@pytest.mark.parametrize("name", [name for name in LAWS if name != "student_t"])
def test_fourth_moment(name):
    backend = backends.load("numpy")
    entries = LAWS[name].draw(backend, backend.draws(np.random.SeedSequence(6)), (COUNT,))
    fourth = entries**4
    assert abs(fourth.mean() - LAWS[name].fourth_moment) <= 5 * fourth.std() / COUNT**0.5


def test_the_heavy_tailed_law_is_the_scaled_student_law():
    # Its fourth power has no variance, so the law itself is compared instead of the moment.
    from scipy import stats

    backend = backends.load("numpy")
    entries = LAWS["student_t"].draw(backend, backend.draws(np.random.SeedSequence(7)), (50_000,))
    law = stats.t(df=5, scale=np.sqrt(3 / 5))
    assert stats.kstest(entries, law.cdf).pvalue > 1e-3
    np.testing.assert_allclose(law.stats("k") + 3, LAWS["student_t"].fourth_moment)


def test_signs_are_never_zero():
    backend = backends.load("numpy")
    entries = LAWS["signs"].draw(backend, backend.draws(np.random.SeedSequence(8)), (10_000,))
    assert set(np.unique(entries)) == {-1.0, 1.0}
