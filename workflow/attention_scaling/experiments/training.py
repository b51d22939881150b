"""What becomes of the remedies in training: two tasks, over widths, optimizers and learning rates.

Small attention models learn to retrieve (see `attention_scaling.training`, `retrieval` and `recall`). A sweep
trains every remedy at every width, for several seeds side by side, and records at fixed steps; values are means
over seeds, standard errors from their spread. In the rows, `variant` is the remedy, `cell` the sweep, `step` the
number of steps done, `samples` the number of seeds.

A sweep with several learning rates looks for the best one: it gives the loss at its last step for each rate
(`cell` is then such as "transfer, rate=0.004"), and the best rate, of each seed the one with the smallest loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from attention_scaling.backends import Backend
from attention_scaling.experiments.slopes import slopes
from attention_scaling.measurement import Measurement
from attention_scaling.moments import Moments
from attention_scaling.progress import Progress
from attention_scaling.sampling.streams import Shard
from attention_scaling.shards import ShardRow
from attention_scaling.training import plan
from attention_scaling.training.settings import TrainingSettings as Settings

NAME = "training"

SLOPED = ("logit_size", "logit_max", "right_logit", "best_rate")

QUANTITIES = {
    "loss": "mean loss",
    "accuracy": "share of right answers",
    "logit_size": "mean |logit|, over all keys that a query sees",
    "logit_max": "largest |logit|",
    "logit_bound": "what no |logit| can exceed, where the remedy bounds them: its learned scale or its cap",
    "bound_use": "largest |logit| over that bound",
    "right_logit": "mean logit of the query's own key",
    "alignment": "mean cosine between a query and its own key: the rho of a trained head",
    "right_weight": "mean weight of the query's own key",
    "top_weight": "mean of a row's largest weight",
    "capacity": "mean trace of the softmax Jacobian, 1 - sum a^2",
    "frozen_share": "share of rows that are wrong (own key's weight below 1/2) and closed (capacity below 0.01)",
    "gradient_norm_query": "Frobenius norm of the gradient at W_Q",
    "gradient_norm_key": "Frobenius norm of the gradient at W_K",
    "log2_best_rate": "mean of log2 of the rate with the smallest last loss",
    "best_rate": "the same rate, as a geometric mean over seeds",
    "best_loss": "mean loss at the best rate of each seed",
    "departure_from_root": "|right logit - root's| over root's mean |logit|, for folded initialisation",
    **{f"{quantity}_slope": f"slope of {quantity} over d_k in log-log axes" for quantity in SLOPED},
}


def train(settings: Settings, backend: Backend, *, seed: int, shard: Shard) -> Iterator[ShardRow]:
    """Train this shard's cells: a row for each quantity, step and seed, to be merged over seeds."""
    from attention_scaling.training import loop

    mine = plan.deal(plan.cells(settings), shard)
    steps = sum(cell.sweep.record_at[-1] for cell in mine)
    with Progress(f"{NAME} {backend.device}", steps, "steps") as progress:
        for cell in mine:
            records = loop.train(
                settings, cell, seed=seed, device=backend.device, advance=progress.advance
            )
            labels = Measurement(
                experiment=NAME,
                quantity="",
                method="trained",
                backend=backend.name,
                device=backend.device,
                dtype=cell.sweep.dtype,
                d_k=cell.d_k,
                n_keys=loop.task_of(settings, cell).n_keys,
                cell=cell.name,
                variant=cell.variant,
            )
            yield from _rows(cell, labels, records)


def _rows(cell: plan.Cell, labels: Measurement, records: Iterable) -> Iterator[ShardRow]:
    last = cell.sweep.record_at[-1]
    for record in records:
        row = replace(labels, quantity=record.quantity, step=record.step)
        if len(cell.sweep.rates) == 1:
            yield from _by_seed(cell, row, record.values[0])
        elif record.step == last:
            for rate, losses in zip(cell.sweep.rates, record.values, strict=True):
                yield from _by_seed(cell, replace(row, cell=f"{cell.name}, rate={rate:g}"), losses)
            best = np.log2(cell.sweep.rates)[record.values.argmin(axis=0)]
            yield from _by_seed(cell, replace(row, quantity="log2_best_rate"), best)
            yield from _by_seed(cell, replace(row, quantity="best_loss"), record.values.min(axis=0))


def _by_seed(cell: plan.Cell, row: Measurement, values: np.ndarray) -> Iterator[ShardRow]:
    """One value a seed; the merged row has their mean and its standard error."""
    for number, value in zip(cell.seeds, values, strict=True):
        yield ShardRow(row, number, Moments(1, float(value), 0.0))


def derive(settings: Settings, measurements: list[Measurement]) -> list[Measurement]:
    """Best rates, slopes over the widths, and how far folded initialisation departs from the root."""
    trained = [row for row in measurements if row.method == "trained"]
    best = [_best_rate(row) for row in trained if row.quantity == "log2_best_rate"]
    return [*best, *slopes([*trained, *best], SLOPED), *_departures(trained)]


def _best_rate(row: Measurement) -> Measurement:
    rate = 2**row.value
    return replace(row, quantity="best_rate", value=rate, stderr=math.log(2) * rate * row.stderr)


def _departures(trained: Iterable[Measurement]) -> Iterator[Measurement]:
    """The departure at every step and width of a sweep that trains both folded and root."""
    found = {
        replace(row, value=None, stderr=None): row
        for row in trained
        if row.variant in ("root", "folded") and row.quantity in ("right_logit", "logit_size")
    }
    for labels, folded in found.items():
        if labels.variant != "folded" or labels.quantity != "right_logit":
            continue
        root = found.get(replace(labels, variant="root"))
        size = found.get(replace(labels, variant="root", quantity="logit_size"))
        if root is None or size is None:
            continue
        # The same weights and batches on both sides: of their errors, most cancel, how much is not known.
        yield replace(
            folded,
            quantity="departure_from_root",
            value=abs(folded.value - root.value) / size.value,
            stderr=None,
        )
