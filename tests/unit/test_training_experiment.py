"""Training itself: the same table every time, and what theory says must come out."""

from dataclasses import replace

import numpy as np
import pytest

from attention_scaling import backends, shards
from attention_scaling.errors import UserError
from attention_scaling.experiments import training
from attention_scaling.measurement import Measurement
from attention_scaling.sampling.streams import Shard
from attention_scaling.validation import validate

WHOLE = Shard()
SMALL = {
    "seeds": 3,
    "retrieval": {"n_keys": 6, "latent_width": 8, "batch": 3, "evaluation_batch": 8},
    "recall": {"pairs": 2, "vocabulary": 3, "batch": 4, "evaluation_batch": 8},
}


def sweep(**changes):
    return {
        "variants": ["root"],
        "widths": [8],
        "rates": [0.01],
        "d_model": 16,
        "record_at": [0, 4, 30],
    } | changes


def settings(*, seeds_together=None, **sweeps):
    data = SMALL | {"sweeps": sweeps, "seeds_together": seeds_together}
    return validate(training.Settings, data, "training")


def rows(config, shard=WHOLE, seed=1):
    return list(training.train(config, backends.load("torch"), seed=seed, shard=shard))


def table(config, seed=1):
    merged = shards.merged(rows(config, seed=seed))
    return merged + training.derive(config, merged)


def value(found, quantity, **labels):
    (row,) = [
        row
        for row in found
        if row.quantity == quantity and all(getattr(row, k) == v for k, v in labels.items())
    ]
    return row.value


MIXED = settings(
    adam=sweep(variants=["root", "qk_norm", "additive"], widths=[4, 8, 16]),
    transfer=sweep(rates=[0.001, 0.01]),
    recall=sweep(task="recall", record_at=[0, 3]),
)


def test_the_table_is_the_same_to_the_last_bit_every_time_and_for_any_shards():
    whole = shards.merged(rows(MIXED))
    again = [row for index in range(4) for row in rows(MIXED, Shard(index, 4))]
    # Orders of rows differ, since each shard takes its cells in its own order.
    assert sorted(map(repr, shards.merged(again))) == sorted(map(repr, whole))


def test_another_seed_gives_other_numbers():
    config = settings(adam=sweep())
    assert value(table(config), "loss", step=0) != value(table(config, seed=2), "loss", step=0)


def test_a_seed_trains_alone_as_it_does_beside_others():
    together = rows(settings(adam=sweep(dtype="float64")))
    alone = rows(settings(adam=sweep(dtype="float64"), seeds_together=1))

    def by_label(found):
        return {(r.measurement.quantity, r.measurement.step, r.run): r.moments.mean for r in found}

    one, other = by_label(together), by_label(alone)
    assert one.keys() == other.keys()
    for label in one:
        np.testing.assert_allclose(one[label], other[label], rtol=1e-9, atol=1e-12, err_msg=label)


def test_values_are_means_over_seeds_with_their_standard_error():
    config = settings(adam=sweep())
    seeds = [
        row.moments.mean
        for row in rows(config)
        if row.measurement.quantity == "loss" and row.measurement.step == 30
    ]
    (row,) = [r for r in table(config) if r.quantity == "loss" and r.step == 30]
    assert row.samples == len(seeds) == 3
    np.testing.assert_allclose(row.value, np.mean(seeds), rtol=1e-12)
    np.testing.assert_allclose(row.stderr, np.std(seeds, ddof=1) / np.sqrt(3), rtol=1e-12)


@pytest.mark.parametrize("task", ["retrieval", "recall"])
def test_training_lowers_the_loss(task):
    found = table(settings(adam=sweep(task=task)))
    assert value(found, "loss", step=30) < 0.8 * value(found, "loss", step=0)


def test_all_remedies_start_from_the_same_heads():
    found = table(settings(adam=sweep(variants=["none", "root", "width", "folded"], d_model=8)))
    at_start = {
        row.variant: row.value for row in found if (row.quantity, row.step) == ("alignment", 0)
    }
    np.testing.assert_allclose(list(at_start.values()), at_start["root"], rtol=1e-5)
    logits = {
        row.variant: row.value for row in found if (row.quantity, row.step) == ("logit_size", 0)
    }
    np.testing.assert_allclose(logits["none"] / logits["root"], np.sqrt(8), rtol=1e-5)
    # The base width is 64, eight times the head's.
    np.testing.assert_allclose(logits["width"] / logits["root"], np.sqrt(8), rtol=1e-5)


def departures(**changes):
    config = settings(
        sweep=sweep(variants=["root", "folded"], widths=[12], dtype="float64", **changes)
    )
    found = table(config)
    assert value(found, "loss", step=30, variant="root") < value(
        found, "loss", step=0, variant="root"
    )
    return [value(found, "departure_from_root", step=step) for step in (0, 4, 30)]


def test_folded_follows_root_under_gradient_descent_at_matched_rates():
    assert max(departures(optimizer="sgd", rates=[0.5], rate_rule="matched")) < 1e-13


def test_folded_leaves_root_under_adam_but_not_at_matched_rates():
    same_rates = departures()
    assert same_rates[0] < 1e-15
    assert min(same_rates[1:]) > 0.05
    # What is left is Adam's epsilon, which does see the size of a gradient.
    assert max(departures(rate_rule="matched")) < 1e-4


def test_normalised_logits_stay_within_their_learned_scale():
    found = table(settings(adam=sweep(variants=["qk_norm", "qk_rms"], rates=[0.1])))
    use = [row.value for row in found if row.quantity == "bound_use"]
    assert len(use) == 6
    assert max(use) <= 1 + 1e-6


def test_a_run_that_diverges_is_a_mistake_in_the_settings():
    config = settings(sgd=sweep(optimizer="sgd", rates=[1e30], variants=["none"]))
    with pytest.raises(
        UserError, match=r"training.sweeps.sgd: none at d_k = 8: the loss is not finite"
    ):
        rows(config)


def test_the_best_rate_is_the_one_with_the_smallest_last_loss():
    config = settings(transfer=sweep(rates=[1e-6, 0.01, 0.02]))
    losses = {}
    for row in rows(config):
        if row.measurement.quantity == "loss":
            rate = float(row.measurement.cell.partition("rate=")[2])
            losses.setdefault(row.run, {})[rate] = row.moments.mean
    best = [min(by_rate, key=by_rate.get) for by_rate in losses.values()]
    found = table(config)
    np.testing.assert_allclose(value(found, "best_rate"), np.exp(np.mean(np.log(best))), rtol=1e-12)
    expected = np.mean([min(by_rate.values()) for by_rate in losses.values()])
    np.testing.assert_allclose(value(found, "best_loss"), expected, rtol=1e-12)


def test_every_quantity_in_the_table_is_described():
    assert {row.quantity for row in table(MIXED)} <= set(training.QUANTITIES)


def test_slopes_of_what_is_trained_are_those_of_straight_lines():
    base = Measurement(
        experiment="training",
        quantity="right_logit",
        method="trained",
        cell="adam",
        variant="root",
        step=4,
        samples=5,
    )
    points = [
        replace(base, d_k=d_k, value=3 * d_k**0.5, stderr=0.03 * d_k**0.5) for d_k in (4, 16, 64)
    ]
    (slope,) = training.derive(None, points)
    assert slope.quantity == "right_logit_slope"
    np.testing.assert_allclose(slope.value, 0.5, rtol=1e-12)
    # Two ends of a line, each known to 1 %: sqrt(2) 0.01 / log(16).
    np.testing.assert_allclose(slope.stderr, np.sqrt(2) * 0.01 / np.log(16), rtol=1e-12)
