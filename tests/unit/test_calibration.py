"""Distances from the exact values, in the stated standard errors, spread as chance has it: no wider, no narrower.

One statistic a cell and backend, so that all distances are independent. Two-sided: an error stated too large is
found like one stated too small. False alarm: one seed in a thousand for each of the two tests; the seed is fixed.
"""

import numpy as np
from scipy import stats

from attention_scaling import backends, experiments, shards
from attention_scaling.experiments.monte_carlo import run_cell
from attention_scaling.sampling.streams import Shard
from attention_scaling.tables import CELL

WIDTHS = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
STUDY = {
    "saturation": ("entropy", "root", {"widths": WIDTHS, "key_counts": [3, 8], "samples": 3000}),
    "capacity": ("capacity", "none", {"widths": WIDTHS, "key_counts": [4, 6], "samples": 3000}),
    "variance": ("score_square_mean", "none", {"widths": WIDTHS, "samples": 3000}),
    "correlation": (
        "aligned_weight",
        "root",
        {"correlations": [0.3], "widths": WIDTHS[::2], "key_counts": [5], "samples": 3000},
    ),
}
FALSE_ALARM = 1e-3


def distances(name, backend):
    quantity, divisor, settings = STUDY[name]
    module = experiments.get(name).module()
    if name == "variance":
        # Light tails only: with heavy ones 3000 squares are not yet close to normal.
        settings = settings | {"distributions": ["gaussian", "signs", "uniform"]}
    else:
        settings = settings | {"divisors": [divisor]}
    settings = module.Settings(**settings)
    exact = {
        tuple(getattr(row, column) for column in CELL): row.value
        for row in module.exact(settings)
        if row.quantity == quantity
    }
    for cell in module.cells(settings):
        rows = run_cell(
            module.sample, settings, cell, backend, seed=5, experiment=name, shard=Shard()
        )
        for row in shards.merged(rows):
            if (row.quantity, row.divisor) == (quantity, divisor):
                truth = exact[tuple(getattr(row, column) for column in CELL)]
                yield (row.value - truth) / row.stderr


def test_the_distances_of_a_whole_study_are_standard_normal():
    found = np.array(
        [
            distance
            for backend in map(backends.load, backends.NAMES)
            for name in STUDY
            for distance in distances(name, backend)
        ]
    )
    assert len(found) == 2 * (22 + 22 + 33 + 6)
    squares = stats.chi2(len(found)).cdf((found**2).sum())
    assert FALSE_ALARM / 2 < squares < 1 - FALSE_ALARM / 2
    assert stats.kstest(found, "norm").pvalue > FALSE_ALARM
