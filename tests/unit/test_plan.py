"""The plan's arithmetic, with rates that are made up; whether they are right, `make bench` tries."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from attention_scaling.errors import UserError
from attention_scaling.experiments import saturation
from attention_scaling.experiments.monte_carlo import PILOT_BLOCKS, PILOT_MARGIN, Cell
from attention_scaling.jobs import jobs
from attention_scaling.planning import rates as tables
from attention_scaling.planning.plan import (
    CAPPED,
    ROUNDED,
    SKIPPED,
    Part,
    pilot_variance,
    plan,
    shard_rows,
)
from attention_scaling.planning.rates import Place, Rate, Rates, Start
from attention_scaling.planning.report import duration, report
from attention_scaling.sampling.streams import Shard
from attention_scaling.settings import check_config, load_config

ROOT = Path(__file__).resolve().parents[2]
BLOCK = 2**14
CELL = Cell(method="collapsed", samples=10 * BLOCK + 5, numbers_per_row=9, d_k=4, n_keys=8)
RATE = Rate(row=1e-6, number=1e-7)

STUDY = {
    "seed": 1,
    "backends": ["numpy", "torch"],
    "devices": ["cpu", "cuda"],
    "shards": 4,
    "experiments": {
        "saturation": {"widths": [4], "key_counts": [8, 32], "samples": 4 * BLOCK},
        "kernels": {},
    },
}


def made_up(**changes) -> Rates:
    """Rates of NumPy and of PyTorch on a CPU."""
    place = Place(machine="M", dtypes=["float64", "float16"], block_rows=BLOCK, tile_numbers=2**15)
    known = {
        "places": {"numpy-cpu": place, "torch-cpu": place},
        "submitted": 4.0,
        "start": {"numpy": Start(seconds=1.0, bytes=1e8), "torch": Start(seconds=2.0, bytes=3e8)},
        "sampled": {
            name: {"saturation": {"collapsed float64": RATE, "collapsed float16": RATE}}
            for name in ("numpy-cpu", "torch-cpu")
        },
        "whole": {"numpy-cpu": {}, "torch-cpu": {"kernels": 7.0}},
        "exact": {"saturation": 0.5},
        "trained": {},
        "held": {"numpy-cpu": {"saturation": 10.0}},
    }
    return Rates(**known | changes)


@pytest.fixture
def study(tmp_path):
    def write(**saturation):
        blocks = STUDY["experiments"]
        blocks = blocks | {"saturation": blocks["saturation"] | saturation}
        path = tmp_path / "study.yaml"
        path.write_text(yaml.safe_dump(STUDY | {"experiments": blocks}))
        return load_config(path)

    return write


def parts(planned) -> dict[tuple[str, str], Part]:
    return {(part.experiment, part.place): part for part in planned.parts}


@given(
    st.integers(1, 40 * BLOCK),
    st.integers(1, 30),
    st.none() | st.floats(1, 100 * BLOCK),
)
def test_shards_keep_all_rows_between_them_and_draw_the_pilot_as_well(samples, count, needed):
    cell = replace(CELL, samples=samples)
    kept, drawn = zip(
        *(shard_rows(cell, BLOCK, Shard(index, count), needed) for index in range(count)),
        strict=True,
    )
    pilot = 0 if needed is None else min(samples, PILOT_BLOCKS * BLOCK)
    assert sum(drawn) == sum(kept) + count * pilot
    if needed is None or needed >= samples:
        assert sum(kept) == samples
    else:
        assert needed <= sum(kept) < needed + BLOCK


def test_seconds_are_those_of_the_start_and_of_each_row(study):
    planned = parts(plan(study(), made_up()))
    numpy = planned["saturation", "numpy-cpu"]
    rows = 4 * BLOCK
    work = RATE.seconds(rows, 9) + RATE.seconds(rows, 33)
    assert (numpy.jobs, numpy.rows) == (4, 2 * rows)
    assert numpy.seconds == pytest.approx(4 * 1.0 + work)
    assert numpy.longest == pytest.approx(1.0 + work / 4)
    assert numpy.memory == 1e8 + 10 * 2**15
    exact = planned["saturation", "exact"]
    assert exact.seconds == 1.0 + 2 * 0.5
    kernels = planned["kernels", "torch-cpu"]
    assert (kernels.jobs, kernels.seconds) == (1, 2.0 + 7.0)


def test_a_row_wider_than_a_tile_sets_the_memory(study):
    numpy = parts(plan(study(key_counts=[2**17]), made_up()))["saturation", "numpy-cpu"]
    assert numpy.memory == 1e8 + 10 * (2**17 + 1)


def test_what_no_rate_is_known_of_stays_unknown_and_is_told(study):
    known = made_up()
    planned = plan(study(dtypes=["float64", "float32"]), known)
    assert parts(planned)["saturation", "torch-cuda"].seconds is None
    # A dtype that the place has not is not drawn there, and takes no time.
    assert parts(planned)["saturation", "numpy-cpu"].seconds is not None
    told = report(planned, known, "rates.yaml")
    assert "5 jobs on a GPU without a rate in rates.yaml" in told
    no_kernels = plan(study(), made_up(whole={}))
    assert parts(no_kernels)["kernels", "torch-cpu"].seconds is None


def test_every_job_of_the_study_is_planned(study):
    config = study()
    listed = list(jobs(config))
    assert len({job.file for job in listed}) == len(listed)
    assert sum(part.jobs for part in plan(config, made_up()).parts) == len(listed)


def test_cells_that_no_allowed_number_of_rows_brings_to_their_precision_are_named(study):
    variances = {8: 0.01, 32: 1.0}
    planned = plan(
        study(dtypes=["float64", "float16"], stderr=1e-3 * 0.4),
        made_up(),
        variance=lambda module, settings, cell: variances[cell.n_keys] / 2,
    )
    capped = [short for short in planned.shortfalls if short.why == CAPPED]
    assert {(short.cell.n_keys, short.cell.dtype) for short in capped} == {
        (32, "float64"),
        (32, "float16"),
    }
    assert capped[0].needed == pytest.approx(PILOT_MARGIN * 0.5 / 0.0004**2)
    rounded = [short for short in planned.shortfalls if short.why == ROUNDED]
    assert {short.cell.dtype for short in rounded} == {"float16"}
    rows = parts(planned)["saturation", "numpy-cpu"].rows
    assert rows < 4 * 4 * BLOCK, "the cell that needs less draws less"


def test_rows_too_wide_to_draw_are_named(study):
    wide = study(widths=[2**20], direct_samples=10, direct_key_counts=[32])
    (short,) = plan(wide, made_up()).shortfalls
    assert (short.why, short.cell.method) == (SKIPPED, "direct")


def test_the_pilot_finds_the_variance_of_the_target(study):
    # One key: its weight is 1, whatever its score. Two keys over the width: nearly even weights.
    config = study(key_counts=[1, 8], stderr=1e-3)
    settings = config.experiment("saturation")
    one, eight = saturation.cells(settings)
    assert pilot_variance(saturation, settings, one) == 0
    # A number in [1/8, 1] has at most the variance of a coin between the ends.
    assert 0.001 < pilot_variance(saturation, settings, eight) < (7 / 16) ** 2


@given(
    st.floats(0, 1e-3),
    st.floats(1e-9, 1e-6),
    st.integers(1, 1000),
    st.integers(1001, 10**6),
)
def test_a_rate_goes_through_both_points(row, number, few, many):
    points = [(width, row + number * width) for width in (few, many)]
    rate = Rate.through(*points)
    for width, seconds in points:
        assert rate.seconds(1, width) == pytest.approx(seconds, rel=1e-6)


def test_a_rate_is_never_negative():
    assert Rate.through((10, 5.0), (100, 1.0)).number >= 0
    assert Rate.through((10, 1.0), (1000, 1000.0)).row == 0
    assert Rate.through((10, 1.0), (10, 1.0)).seconds(1, 10) == pytest.approx(1.0)


def test_a_table_reads_as_it_was_written(tmp_path):
    tables.write(made_up(), tmp_path / "rates.yaml")
    assert tables.read(tmp_path / "rates.yaml") == made_up()
    (tmp_path / "rates.yaml").write_text("places: 3\n")
    with pytest.raises(UserError, match="places"):
        tables.read(tmp_path / "rates.yaml")


def test_the_study_for_clusters_has_rates_and_the_long_training():
    config = check_config(ROOT / "config/cluster.yaml")
    training = check_config(ROOT / "config/training.yaml")
    assert config.block("training") == training.block("training")
    known = tables.read(ROOT / "config/rates.yaml")
    planned = plan(config, known, variance=lambda *_: 0.1)
    assert [part for part in planned.parts if part.seconds is None and not part.on_gpu] == []
    assert max(part.longest for part in planned.parts if not part.on_gpu) < 240 * 60


@pytest.mark.parametrize(
    ("seconds", "said"), [(40.2, "40 s"), (700, "12 min"), (5400, "1.5 h"), (0, "0 s")]
)
def test_durations(seconds, said):
    assert duration(seconds) == said
