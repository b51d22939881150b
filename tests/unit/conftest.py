"""What the unit tests share: the backends that a test of array code runs on."""

from __future__ import annotations

import pytest

from attention_scaling import backends


@pytest.fixture(
    params=[
        pytest.param(("numpy", "cpu"), id="numpy"),
        pytest.param(("torch", "cpu"), id="torch-cpu"),
        pytest.param(("torch", "cuda"), id="torch-cuda", marks=pytest.mark.cuda),
    ],
    scope="session",
)
def backend(request) -> backends.Backend:
    """Each backend in turn; one that this machine lacks is skipped with the reason."""
    try:
        return backends.load(*request.param)
    except backends.UnavailableError as reason:
        pytest.skip(str(reason))
