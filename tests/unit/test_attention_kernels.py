"""PyTorch's kernels, each by name, against attention written here."""

from __future__ import annotations

import numpy as np
import pytest
from attention_cases import VERSIONS, Problem

from attention_scaling import backends
from attention_scaling.torch_kernels import KERNELS, run_kernel

OPERATOR = {
    "math": "aten::_scaled_dot_product_attention_math",
    "flash": "aten::_scaled_dot_product_flash_attention_for_cpu",
}
"""What PyTorch's CPU build runs for a kernel."""

SEEN = np.random.default_rng(7).random((12, 16)) < 0.7
SEEN[4] = False

OPTIONS = {
    "bare": {},
    "causal": {"causal": True},
    "scale": {"scale": 0.3},
    "boolean mask": {"mask": SEEN},
    "additive mask": {"mask": np.where(SEEN, np.arange(16) / 8, -np.inf)},
    "mask of a batch": {"mask": np.stack([SEEN, ~SEEN])[:, None]},
}


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def torch_backend(request) -> backends.Backend:
    try:
        return backends.load("torch", request.param)
    except backends.UnavailableError as reason:
        pytest.skip(str(reason))


def problem(options: dict, width: int = 8) -> Problem:
    rng = np.random.default_rng(0)
    return Problem(*(rng.normal(size=(2, 3, n, width)) for n in (12, 16, 16, 12)), **options)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("case", OPTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_every_kernel_agrees(torch_backend, kernel, case, dtype):
    arrays, options = problem(OPTIONS[case]).on(torch_backend, dtype)
    result = run_kernel(kernel, *arrays, **options)
    if result.unavailable:
        pytest.skip(f"{kernel}: {result.unavailable}")
    # A few units in the last place, of numbers of size up to about 8.
    tolerance = 32 * float(torch_backend.xp.finfo(arrays[0].dtype).eps)
    for version in VERSIONS.values():
        for ours, theirs in zip(
            version(*arrays, **options), (result.output, *result.gradients), strict=True
        ):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(
                torch_backend.to_numpy(ours),
                torch_backend.to_numpy(theirs),
                rtol=tolerance,
                atol=tolerance,
            )


def test_at_least_two_kernels_run_on_a_cpu():
    backend = backends.load("torch")
    arrays, _ = problem({}).on(backend)
    ran = {kernel for kernel in KERNELS if run_kernel(kernel, *arrays).unavailable is None}
    assert ran >= {"math", "flash"}


@pytest.mark.parametrize("kernel", OPERATOR)
def test_the_named_kernel_is_the_one_that_runs(kernel):
    import torch

    arrays, _ = problem({}).on(backends.load("torch"))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        run_kernel(kernel, *arrays)
    ran = {event.key for event in profile.key_averages()}
    assert OPERATOR[kernel] in ran
    assert not ran & (set(OPERATOR.values()) - {OPERATOR[kernel]})


def test_a_kernel_that_does_not_run_says_why_in_the_words_of_pytorch():
    backend = backends.load("torch")
    Q, K, _, _ = problem({}).on(backend)[0]
    V, dO = K[..., :5].contiguous(), Q[..., :5].contiguous()
    reason = run_kernel("flash", Q, K, V, dO).unavailable
    assert "same last dimension" in reason
    assert "Triggered internally" not in reason
    assert "\n" not in reason
    cudnn = run_kernel("cudnn", Q, K, K, Q)
    assert cudnn.output is None
    assert "No viable backend" in cudnn.unavailable


def test_matrices_without_leading_dimensions_are_fine(torch_backend):
    arrays, _ = problem({}).on(torch_backend)
    single = [array[0, 0] for array in arrays]
    whole, one = run_kernel("math", *arrays), run_kernel("math", *single)
    assert one.output.shape == single[3].shape
    for part, full in zip(
        (one.output, *one.gradients), (whole.output, *whole.gradients), strict=True
    ):
        np.testing.assert_allclose(
            torch_backend.to_numpy(part), torch_backend.to_numpy(full[0, 0]), rtol=1e-12, atol=1e-14
        )
