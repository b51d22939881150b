"""The optimizers, run by run, against PyTorch's own; the rates' factors against what they must achieve."""

import pytest
import torch

from attention_scaling.training.optimizers import OPTIMIZERS
from attention_scaling.training.parametrisation import rate_factor

RATES = (0.01, 0.3)
STEPS = 12


def gradient(step, value):
    """Any gradient that depends on the step and on where the parameter is."""
    return torch.cos(value + step) * 10.0 ** -(step % 3)


def start():
    return torch.linspace(-2, 2, 12, dtype=torch.float64).reshape(3, 4)


@pytest.mark.parametrize(
    ("name", "reference"), [("adam", torch.optim.Adam), ("sgd", torch.optim.SGD)]
)
def test_every_run_steps_as_it_does_alone_in_torch(name, reference):
    together = {"query": torch.stack([start() for _ in RATES])}
    optimizer = OPTIMIZERS[name](together, {"query": torch.tensor(RATES, dtype=torch.float64)})
    for step in range(STEPS):
        optimizer.step({"query": gradient(step, together["query"])})
    for run, rate in enumerate(RATES):
        alone = start().requires_grad_()
        theirs = reference([alone], lr=rate)
        for step in range(STEPS):
            alone.grad = gradient(step, alone.detach())
            theirs.step()
        torch.testing.assert_close(together["query"][run], alone.detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_gradient_may_lie_in_memory_in_any_order(name):
    def stepped(order):
        together = {"query": start()[None].clone()}
        gradient = torch.arange(12, dtype=torch.float64).reshape(1, 3, 4)
        optimizer = OPTIMIZERS[name](together, {"query": torch.tensor([0.1])})
        optimizer.step({"query": order(gradient)})
        return together["query"]

    transposed = stepped(lambda gradient: gradient.mT.contiguous().mT)
    assert torch.equal(transposed, stepped(torch.clone))


def factor(parameter, rule, variant="root", optimizer="adam", d_k=256, d_model=128):
    return rate_factor(
        parameter,
        rule,
        variant=variant,
        optimizer=optimizer,
        d_k=d_k,
        d_model=d_model,
        base_width=64,
    )


def test_fixed_rates_know_no_width():
    assert {factor(name, "fixed") for name in ("query", "second.key", "gain")} == {1.0}


def test_mup_rates_fall_with_the_inputs_of_the_projections_alone():
    assert factor("query", "mup") == factor("second.key", "mup") == 0.5
    assert factor("query", "mup", d_model=64) == 1.0
    assert factor("read_out", "mup") == factor("value", "mup") == 1.0


def test_matched_rates_touch_a_folded_query_alone():
    assert factor("first.query", "matched", "folded", "sgd") == 1 / 256
    assert factor("query", "matched", "folded", "adam") == 1 / 16
    assert factor("key", "matched", "folded", "sgd") == 1.0
    assert factor("query", "matched", "root", "sgd") == 1.0
