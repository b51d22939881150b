"""Kernels, memory and cost at small sizes: what they measure, against counts and formulas made another way."""

import math

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_scaling import backends
from attention_scaling.bench.timing import Timings
from attention_scaling.experiments import cost, kernels, memory
from attention_scaling.experiments.versions import versions
from attention_scaling.tables import LABELS, METHODS, VARYING_METHODS
from attention_scaling.torch_kernels import run_kernel

NUMPY, TORCH = (backends.load(name) for name in backends.NAMES)

KERNELS = kernels.Settings(positions=16, d_k=8, dropout_runs=500)
MEMORY = memory.Settings(lengths=[128, 256], d_k=16, block=32)
COST = cost.Settings(
    lengths=[8, 16], widths=[4], rounds=3, row_lengths=[8, 16, 32], row_numbers=2**10, row_rounds=3
)


@pytest.fixture(scope="module")
def rows():
    return {
        "kernels": list(kernels.measure(KERNELS, TORCH)),
        "memory": list(memory.measure(MEMORY, NUMPY)),
        "cost": list(cost.measure(COST, NUMPY)) + list(cost.measure(COST, TORCH)),
    }


@pytest.mark.parametrize("module", [kernels, memory, cost], ids=lambda module: module.NAME)
def test_all_documented_quantities_are_measured_once_in_each_cell(rows, module):
    found = rows[module.NAME]
    assert {row.quantity for row in found} == set(module.QUANTITIES)
    labels = [tuple(getattr(row, name) for name in LABELS) for row in found]
    assert len(set(labels)) == len(labels)
    assert {row.method for row in found} <= set(METHODS)
    for row in found:
        assert (row.value is None) != (row.skipped is None)
        assert row.value is None or math.isfinite(row.value)


def test_what_another_run_gives_differently_is_marked_so():
    for module, settings, backend in ((kernels, KERNELS, TORCH), (cost, COST, NUMPY)):
        first, second = (list(module.measure(settings, backend)) for _ in range(2))
        varying = {one.method for one, other in zip(first, second, strict=True) if one != other}
        assert varying <= set(VARYING_METHODS)


@pytest.mark.parametrize("version", ["plain", "tiled"])
def test_operations_are_those_that_really_run(version):
    n_keys, d_k = 32, 8
    row = {"n_keys": n_keys, "d_k": d_k}
    arrays = [TORCH.asarray(np.full((n_keys, d_k), 0.1)) for _ in range(4)]
    way = versions(block=16)[version]
    counts = {}
    with FlopCounterMode(display=False) as forward:
        _, kept = way.forward(*arrays[:3])
    counts["forward"] = forward.get_flop_counts()["Global"][torch.ops.aten.mm]
    with FlopCounterMode(display=False) as backward:
        way.backward(*arrays, kept)
    counts["backward"] = backward.get_flop_counts()["Global"][torch.ops.aten.mm]
    for pass_, flops in counts.items():
        assert flops == cost.product_flops(way.products[pass_], **row)


def test_a_time_is_the_median_of_its_rounds_and_a_share_that_of_their_quotients(monkeypatch):
    seconds = {
        (variant, pass_): [base, 3 * base, 2 * base]
        for base, (variant, pass_) in enumerate(
            [(v, p) for v in ("products", "plain", "tiled") for p in cost.PASSES], start=1
        )
    }
    monkeypatch.setattr(cost, "_timed", lambda backend, ways, rounds: Timings(seconds))
    labels = cost.Measurement(
        experiment="cost", quantity="", method="timing", n_keys=8, d_k=4, dtype="float32"
    )
    found = {(row.quantity, row.variant, row.cell): row for row in cost._passes(labels, NUMPY, 3)}
    assert found["seconds", "plain", "backward"].value == 8.0
    assert found["time_ratio", "plain", None].value == pytest.approx(4 / 3)
    assert found["time_ratio", "plain", None].stderr == pytest.approx(0, abs=1e-12)
    assert found["product_ratio", "plain", None].value == 2.0
    assert found["outside_share", "plain", "forward"].value == pytest.approx(2 / 3)
    assert found["outside_share", "plain", "backward"].value == pytest.approx(1 / 2)


def test_both_ways_through_a_softmax_give_the_same_gradient():
    rng = np.random.default_rng(0)
    weights, upstream = rng.dirichlet(np.ones(6), size=5), rng.normal(size=(5, 6))
    ways = cost._through(weights, upstream, 3)
    whole, few = ways["product", 6](), ways["matrix", 6]()
    np.testing.assert_allclose(few[..., 0], whole[:3], rtol=1e-12, atol=1e-15)


def test_the_exponent_is_that_of_the_times(monkeypatch):
    def timed(backend, ways, rounds):
        # As many rows as make one size: a time a row of n^1.5 is a time a call of n^1.5 times the rows.
        return Timings({(way, n): [n**1.5 * calls(way, n)] * rounds for way, n in ways})

    def calls(way, n):
        return 1 if n == 1 else max(1, COST.row_numbers // n ** {"product": 1, "matrix": 2}[way])

    monkeypatch.setattr(cost, "_timed", timed)
    labels = cost.Measurement(experiment="cost", quantity="", method="timing")
    exponents = [row for row in cost._rows(COST, labels, NUMPY) if row.quantity == "row_exponent"]
    assert {row.variant for row in exponents} == {"product", "matrix"}
    for row in exponents:
        assert row.value == pytest.approx(1.5)


def test_what_is_kept_is_what_the_shapes_say(rows):
    kept = [row for row in rows["memory"] if row.quantity == "kept_bytes"]
    assert len(kept) == 4
    for row in kept:
        numbers = row.n_keys * (row.d_k + {"plain": row.n_keys, "tiled": 2}[row.variant])
        assert row.theory == 4 * numbers
        # A few Python objects come on top: no array does.
        assert 0 <= row.value - row.theory < 8192


def test_peaks_hold_the_whole_matrix_or_a_few_blocks_of_it(rows):
    peaks = {
        (row.variant, row.cell, row.n_keys): row.value
        for row in rows["memory"]
        if row.quantity == "peak_bytes"
    }
    matrix, block = 4 * 256**2, 4 * MEMORY.block**2
    arrays = 4 * 256 * MEMORY.d_k
    assert peaks["plain", "forward", 256] > matrix
    assert peaks["plain", "backward", 256] > 2 * matrix  # the weights and their gradient
    assert peaks["tiled", "forward", 256] < 5 * arrays + 8 * block
    assert peaks["tiled", "backward", 256] < 10 * arrays + 8 * block < 2 * matrix


def test_growth_is_the_slope_at_the_end(rows):
    for row in rows["memory"]:
        if row.quantity == "peak_growth" and row.cell == "backward":
            one, other = (
                peak.value
                for peak in rows["memory"]
                if (peak.quantity, peak.cell, peak.variant)
                == ("peak_bytes", "backward", row.variant)
            )
            assert row.value == pytest.approx(math.log2(other / one))


def test_memory_on_a_cpu_without_an_account_is_skipped_with_the_reason():
    (row,) = memory.measure(MEMORY, TORCH)
    assert row.value is None
    assert "no account" in row.skipped


def test_a_kernel_that_does_not_run_says_why_in_every_quantity(rows):
    skipped = [row for row in rows["kernels"] if row.variant == "cudnn" and row.cell == "bare"]
    assert len(skipped) == len(kernels.RESULTS) * len(KERNELS.dtypes)
    assert all("scaled_dot_product_attention" in row.skipped for row in skipped)


def test_errors_are_against_float64_on_the_rounded_inputs(rows):
    case = kernels.cases(KERNELS, TORCH)["scale"].rounded(TORCH, "bfloat16")
    exact = [array.double().numpy() for array in case.arrays]
    scores = 0.5 * exact[0] @ np.swapaxes(exact[1], -1, -2)
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    output = weights @ exact[2]
    ours = versions()["plain"].forward(*case.arrays[:3], scale=0.5)[0].double().numpy()
    (row,) = [
        row
        for row in rows["kernels"]
        if (row.quantity, row.variant, row.cell, row.dtype)
        == ("error_O", "plain", "scale", "bfloat16")
    ]
    expected = np.linalg.norm(ours - output) / np.linalg.norm(output)
    assert row.value == pytest.approx(expected, rel=1e-9)


def test_dropout_is_measured_within_its_error(rows):
    found = [row for row in rows["kernels"] if row.quantity.startswith("dropout") and row.value]
    assert {row.variant for row in found} == {"math"}
    for row in found:
        if row.stderr:
            assert abs(row.value - row.theory) < 5 * row.stderr
    whole = run_kernel("math", *(TORCH.asarray(np.ones((1, 1, 4, 4))) for _ in range(4)))
    dropped = run_kernel(
        "math", *(TORCH.asarray(np.ones((1, 1, 4, 4))) for _ in range(4)), dropout=0.5
    )
    assert not torch.equal(whole.output, dropped.output)


@pytest.mark.cuda
def test_a_gpu_measures_the_same_quantities(rows):
    try:
        gpu = backends.load("torch", "cuda")
    except backends.UnavailableError as reason:
        pytest.skip(str(reason))
    peaks = {
        (row.variant, row.cell, row.n_keys): row.value
        for row in memory.measure(MEMORY, gpu)
        if row.quantity == "peak_bytes"
    }
    assert peaks["plain", "forward", 256] > 4 * 256**2 > 0 < peaks["tiled", "forward", 256]
    timed = {(row.quantity, row.variant, row.cell, row.n_keys) for row in rows["cost"]}
    assert {
        (row.quantity, row.variant, row.cell, row.n_keys) for row in cost.measure(COST, gpu)
    } == timed
    ratios = [row.value for row in kernels.measure(KERNELS, gpu) if row.quantity == "error_ratio"]
    assert ratios and max(ratios) <= 2
