"""Training of one cell: all its seeds and rates side by side, the same numbers for every remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from attention_scaling import backends
from attention_scaling.backends import Draws
from attention_scaling.errors import UserError
from attention_scaling.remedies import remedy
from attention_scaling.sampling.streams import block_seed
from attention_scaling.training.batches import batches
from attention_scaling.training.heads import Parameters
from attention_scaling.training.optimizers import OPTIMIZERS, Rates
from attention_scaling.training.parametrisation import rate_factor
from attention_scaling.training.plan import Cell
from attention_scaling.training.recall import Recall
from attention_scaling.training.recording import record
from attention_scaling.training.retrieval import Retrieval
from attention_scaling.training.settings import TrainingSettings

STREAMS = "training"
"""Name of the experiment in the seeds of the streams."""


@dataclass(frozen=True)
class Record:
    """A quantity after `step` steps, as a NumPy array of shape (rates, seeds).

    Runs at several rates compare their losses, and nothing else of them is recorded.
    """

    step: int
    quantity: str
    values: np.ndarray


def task_of(settings: TrainingSettings, cell: Cell) -> Retrieval | Recall:
    """The cell's task."""
    chosen = remedy(cell.variant, base_width=settings.base_width)
    if cell.sweep.task == "retrieval":
        return Retrieval(settings.retrieval, chosen, d_model=cell.d_model, d_k=cell.d_k)
    return Recall(settings.recall, chosen, d_model=cell.d_model, d_k=cell.d_k)


def train(
    settings: TrainingSettings,
    cell: Cell,
    *,
    seed: int,
    device: str,
    advance: Callable[[int], None] = lambda steps: None,
) -> Iterator[Record]:
    """Train the cell's runs and yield what is recorded on the way.

    Every stream is named by what it is for and by the seed's number, never by remedy, rate or device: remedies
    start from the same weights (of the same widths) and see the same batches. `advance` is told the steps done.
    Raises `UserError` when a loss is no longer finite.
    """
    task = task_of(settings, cell)
    backend = backends.load("numpy")
    dtype = getattr(torch, cell.sweep.dtype)
    n_rates = len(cell.sweep.rates)

    def streams(purpose: str) -> list[Draws]:
        label = f"{cell.sweep.task}, {purpose}"
        return [backend.draws(block_seed(seed, STREAMS, label, s)) for s in cell.seeds]

    def runs(values: torch.Tensor) -> torch.Tensor:
        """What was drawn for each seed, for each run: the seeds again for every rate."""
        repeated = values.repeat(n_rates, *(1,) * (values.ndim - 1)).to(device)
        return repeated.to(dtype) if repeated.is_floating_point() else repeated

    drawn = task.initial(backend, streams(f"weights {cell.d_model} {cell.d_k}"))
    parameters = {name: runs(value).requires_grad_() for name, value in drawn.items()}
    drawn = task.fixed(streams(f"embedding {cell.d_model}"))
    fixed = {name: runs(value) for name, value in drawn.items()}
    evaluation = tuple(map(runs, task.batch(streams("evaluation"), evaluation=True)))
    # Remedy, width and rate have no part in what is drawn.
    key = (cell.sweep.task, getattr(settings, cell.sweep.task), seed, cell.seeds)
    training = batches(key, task.batch, lambda: streams("batches"))
    optimizer = OPTIMIZERS[cell.sweep.optimizer](
        {name: value.detach() for name, value in parameters.items()},
        _rates(settings, cell, parameters),
    )

    def gradients(losses: torch.Tensor) -> Parameters:
        # Runs share no parameter, so the gradient of the sum is each run's own.
        found = torch.autograd.grad(losses.sum(), list(parameters.values()))
        return dict(zip(parameters, found, strict=True))

    for step in range(cell.sweep.record_at[-1] + 1):
        if step in cell.sweep.record_at:
            if n_rates > 1:
                with torch.no_grad():
                    found = {"loss": task.losses(parameters, fixed, evaluation)}
            else:
                outcome = task(parameters, fixed, evaluation)
                found = record(outcome, gradients(outcome.losses))
            if not bool(found["loss"].isfinite().all()):
                raise UserError(
                    f"training.sweeps.{cell.name}: {cell.variant} at d_k = {cell.d_k}: the loss is not finite "
                    f"after {step} steps: allowed are rates at which training does not diverge"
                )
            for quantity, values in found.items():
                yield Record(step, quantity, values.double().cpu().numpy().reshape(n_rates, -1))
        if step < cell.sweep.record_at[-1]:
            batch = tuple(map(runs, next(training)))
            optimizer.step(gradients(task.losses(parameters, fixed, batch)))
            advance(1)


def _rates(settings: TrainingSettings, cell: Cell, parameters: Parameters) -> Rates:
    """The learning rates of every parameter, one a run."""
    rates = torch.tensor(cell.sweep.rates, dtype=torch.float64).repeat_interleave(len(cell.seeds))
    return {
        name: rates
        * rate_factor(
            name,
            cell.sweep.rate_rule,
            variant=cell.variant,
            optimizer=cell.sweep.optimizer,
            d_k=cell.d_k,
            d_model=cell.d_model,
            base_width=settings.base_width,
        )
        for name in parameters
    }
