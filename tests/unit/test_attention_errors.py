"""What attention says about arguments that it cannot use: one line that names the argument."""

from __future__ import annotations

import numpy as np
import pytest

from attention_scaling import attention, tiled, torch_kernels
from attention_scaling.errors import UserError


def arrays(backend, dtype="float64") -> dict:
    shapes = {"Q": (2, 4, 3), "K": (2, 5, 3), "V": (2, 5, 2), "dO": (2, 4, 2)}
    return {name: backend.asarray(np.ones(shape), dtype) for name, shape in shapes.items()}


def calls(backend):
    """Every function that takes the arguments of attention, as a function of them."""

    def forward(dO, **arguments):
        return attention.scaled_dot_product_attention(**arguments)

    def tiled_forward(dO, **arguments):
        return tiled.tiled_attention(**arguments)

    def tiled_backward(**arguments):
        good = arrays(backend)
        _, kept = tiled.tiled_attention(good["Q"], good["K"], good["V"])
        return tiled.tiled_attention_backward(**arguments, kept=kept)

    return forward, attention.attention_backward, tiled_forward, tiled_backward


WRONG = {
    "list": ({"Q": [[1.0]]}, "Q: list"),
    "one axis": ({"Q": np.ones(3)}, "Q: shape (3,)"),
    "leading axes": ({"K": np.ones((3, 5, 3))}, "K: shape (3, 5, 3)"),
    "widths": ({"K": np.ones((2, 5, 4))}, "K: shape (2, 5, 4)"),
    "positions": ({"V": np.ones((2, 6, 2))}, "V: shape (2, 6, 2)"),
    "no keys": ({"K": np.ones((2, 0, 3)), "V": np.ones((2, 0, 2))}, "K: shape (2, 0, 3)"),
    "whole numbers": ({"Q": np.ones((2, 4, 3), dtype=int)}, "Q: dtype"),
    "two dtypes": ({"V": np.ones((2, 5, 2), dtype=np.float32)}, "V: dtype"),
    "mask shape": ({"mask": np.ones((4, 4), dtype=bool)}, "mask: shape (4, 4)"),
    "mask axes": ({"mask": np.ones((1, 2, 4, 5), dtype=bool)}, "mask: shape (1, 2, 4, 5)"),
    "mask dtype": ({"mask": np.ones((4, 5), dtype=int)}, "mask: dtype"),
    "scale beyond floats": ({"scale": 10**400}, "scale: 1000"),
    "infinite scale": ({"scale": float("inf")}, "scale: inf"),
    "scale by name": ({"scale": "root"}, "scale: 'root'"),
    "scale by flag": ({"scale": True}, "scale: True"),
    "accumulate dtype": ({"accumulate_dtype": "float32"}, "accumulate_dtype: 'float32'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_wrong_argument_is_named(backend, case):
    wrong, message = WRONG[case]
    wrong = {
        name: backend.xp.asarray(value, device=backend.device)
        if isinstance(value, np.ndarray)
        else value
        for name, value in wrong.items()
    }
    for call in calls(backend):
        with pytest.raises(UserError) as raised:
            call(**(arrays(backend) | wrong))
        assert str(raised.value).startswith(message)
        assert "allowed is" in str(raised.value) or "allowed are" in str(raised.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.ones((2, 4, 3)), "dO: shape"), (np.ones((2, 4, 2), dtype=np.float32), "dO: dtype")],
)
def test_a_wrong_gradient_of_the_output_is_named(backend, value, message):
    _, backward, _, tiled_backward = calls(backend)
    for call in (backward, tiled_backward):
        with pytest.raises(UserError, match=message):
            call(**(arrays(backend) | {"dO": backend.xp.asarray(value, device=backend.device)}))


def test_what_the_forward_pass_kept_must_fit(backend):
    good = arrays(backend)
    with pytest.raises(UserError, match="weights: shape"):
        attention.attention_backward(**good, weights=backend.asarray(np.ones((2, 4, 4))))
    with pytest.raises(UserError, match="weights: dtype"):
        attention.attention_backward(**good, weights=backend.asarray(np.ones((2, 4, 5)), "float32"))
    short = {name: array[:, :3] for name, array in good.items()}
    _, kept = tiled.tiled_attention(short["Q"], short["K"], short["V"])
    with pytest.raises(UserError, match="kept.output: shape"):
        tiled.tiled_attention_backward(**good, kept=kept)


@pytest.mark.parametrize("block", [(0, 4), (4,), (2.0, 2), "ab"])
def test_a_wrong_block_is_named(backend, block):
    good = arrays(backend)
    with pytest.raises(UserError, match="block: "):
        tiled.tiled_attention(good["Q"], good["K"], good["V"], block=block)


def test_two_libraries_are_refused():
    import torch

    Q = np.ones((4, 3))
    for call in (attention.scaled_dot_product_attention, tiled.tiled_attention):
        with pytest.raises(UserError, match="K: Tensor beside Q of type ndarray"):
            call(Q, torch.ones(4, 3, dtype=torch.float64), Q)
        with pytest.raises(UserError, match="mask: Tensor beside Q of type ndarray"):
            call(Q, Q, Q, mask=torch.ones(4, 4, dtype=torch.bool))


def test_two_devices_are_refused():
    import torch

    Q, elsewhere = torch.ones(4, 3), torch.ones(4, 3, device="meta")
    for call in (attention.scaled_dot_product_attention, tiled.tiled_attention):
        with pytest.raises(UserError, match="V: device meta: allowed is that of Q, cpu"):
            call(Q, Q, elsewhere)


def test_tensors_that_require_grad_are_refused_while_gradients_are_recorded():
    import torch

    Q = torch.ones(4, 3)
    learned = Q.clone().requires_grad_()
    with pytest.raises(UserError, match="K: a tensor that requires grad"):
        attention.scaled_dot_product_attention(Q, learned, Q)
    with torch.no_grad():
        attention.scaled_dot_product_attention(Q, learned, Q)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: attention.softmax(x, mask=x[:1] > 0, accumulate_dtype=int), "accumulate_dtype"),
        (lambda x: attention.softmax([1.0]), "scores: list"),
        (lambda x: attention.naive_softmax([1.0]), "scores: list"),
        (lambda x: attention.scores(x, x[:, :1]), "K: shape"),
        (lambda x: attention.score_gradient(x, x[:1]), "G: shape"),
        (lambda x: attention.softmax_jacobian([1.0]), "a: list"),
    ],
)
def test_the_smaller_functions_name_it_too(backend, call, message):
    with pytest.raises(UserError, match=message):
        call(backend.asarray(np.ones((4, 3))))


@pytest.mark.parametrize(("d_k", "rho"), [(0, 0.0), (1.5, 0.0), (True, 0.0), (4, 1.5), (4, np.nan)])
def test_moments_of_impossible_scores(d_k, rho):
    with pytest.raises(UserError, match="d_k: |rho: "):
        attention.scaled_score_moments(d_k, rho)


def test_an_unknown_kernel_is_named():
    import torch

    Q = torch.ones(4, 3)
    with pytest.raises(UserError, match="kernel 'fast': allowed are math, flash, efficient, cudnn"):
        torch_kernels.run_kernel("fast", Q, Q, Q, Q)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
def test_a_softmax_of_no_positions_is_refused(backend, shape):
    rows = backend.asarray(np.ones(shape))
    for call in (
        lambda: attention.softmax(rows),
        lambda: attention.naive_softmax(rows),
        lambda: attention.softmax_jacobian(rows),
        lambda: attention.score_gradient(rows, rows),
    ):
        with pytest.raises(UserError, match="shape .* a position at least"):
            call()


def test_scores_of_what_is_no_array_are_refused():
    with pytest.raises(UserError, match="Q: list"):
        attention.scores([[1.0]], [[1.0]])


@pytest.mark.parametrize("block", [5, (1,), (0, 1), (1.5, 2), "ab"])
def test_a_block_that_is_no_pair_of_numbers_is_refused(backend, block):
    good = arrays(backend)
    with pytest.raises(UserError, match="block: "):
        tiled.tiled_attention(good["Q"], good["K"], good["V"], block=block)


def test_what_the_forward_pass_did_not_keep_is_refused(backend):
    with pytest.raises(UserError, match="kept: NoneType"):
        tiled.tiled_attention_backward(**arrays(backend), kept=None)
