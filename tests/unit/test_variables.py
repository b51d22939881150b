"""The variables of the pages: complete whatever was measured, and true to the tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

import pytest
import yaml
from reader_study import ROOT, Study, full_study, study_of

from attention_scaling.figures.wording import plain, with_error
from attention_scaling.site.sources import load_variables
from attention_scaling.site.variables import NOT_MEASURED, variables, write

PAGES = sorted((ROOT / "reports").glob("*.qmd"))
USED = {
    (page.name, name)
    for page in PAGES
    for name in re.findall(r"\{\{<\s*var\s+(\S+)\s*>\}\}", page.read_text(encoding="utf-8"))
}


def leaves(tree: Mapping, prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def of(study: Study) -> dict[str, object]:
    return dict(leaves(variables(study.tables, study.provenance)))


@pytest.fixture(scope="module")
def full():
    return of(full_study())


def test_pages_use_variables():
    assert len(PAGES) >= 10
    assert len(USED) > 100


def test_every_variable_on_a_page_is_computed_from_a_full_study(full):
    missing = {name for _, name in USED if full.get(name, NOT_MEASURED) == NOT_MEASURED}
    # NumPy, which runs this study, has no bfloat16.
    assert missing == {"precision.bfloat16.tried"}


@pytest.mark.parametrize("experiment", ["precision", "reconstruction"])
def test_a_study_without_an_experiment_has_the_same_variables_and_says_what_is_missing(
    full, experiment
):
    poor = of(study_of(experiment))
    assert poor.keys() == full.keys()
    assert poor["saturation.top_weight.none.last.exact"] == NOT_MEASURED
    assert poor["variance.slope.none.measured"] == NOT_MEASURED
    assert "nan" not in set(poor.values())


def test_values_are_those_of_the_table(full):
    tables = full_study().tables
    row = tables.rows(
        "saturation", "top_weight", d_k=1024, n_keys=32, divisor="none", method="quadrature"
    ).iloc[0]
    assert full["saturation.top_weight.none.last.exact"] == plain(row["value"], 4)
    row = tables.rows(
        "capacity",
        "capacity",
        d_k=4,
        n_keys=32,
        divisor="root",
        backend="numpy",
        method="collapsed",
    ).iloc[0]
    assert full["capacity.capacity.root.first.measured"] == with_error(row["value"], row["stderr"])
    closed = tables.rows(
        "saturation", "closed_share", d_k=1024, n_keys=32, divisor="none", method="quadrature"
    ).iloc[0]
    assert full["saturation.closed_share.none.last.exact"] == plain(100 * closed["value"], 4)
    assert full["variance.slope.none.exact"] == "0.5"
    assert full["variance.enumerated_square"] == "4"
    assert full["precision.float16.largest"] == "65,504"
    assert full["correlation.at_rho.score_mean.root.last.exact"] == "19.2"  # 0.6 sqrt(1024)
    assert full["study.seed"] == "5"
    assert full["study.backends"] == "NumPy and PyTorch"


def test_verdicts_add_up(full):
    kinds = [
        "reproduced",
        "consistent",
        "differs_explained",
        "differs",
        "inconclusive",
        "cited",
        "skipped",
    ]
    total = sum(int(full[f"verdicts.{kind}"]) for kind in kinds)
    assert total == int(full["verdicts.claims"]) == full_study().tables.verdicts["claim"].nunique()


def test_the_file_holds_quoted_texts_without_pipes(tmp_path, full):
    study = full_study()
    write(tmp_path / "_variables.yml", variables(study.tables, study.provenance))
    text = (tmp_path / "_variables.yml").read_text(encoding="utf-8")
    assert "|" not in text
    assert dict(leaves(yaml.safe_load(text))) == full
    assert all(isinstance(value, str) for value in full.values())
    assert load_variables(tmp_path) == full


def test_a_ratio_of_losses_has_the_error_of_a_quotient(full):
    rows = full_study().tables.rows("training", "loss", cell="adam", d_k=128, step=16)
    none, root = (rows[rows["variant"] == variant].iloc[0] for variant in ("none", "root"))
    ratio = none["value"] / root["value"]
    relative = math.hypot(none["stderr"] / none["value"], root["stderr"] / root["value"])
    assert full["training.none_over_root.end"] == with_error(ratio, ratio * relative)


def test_the_best_rate_is_the_one_of_the_table(full):
    row = full_study().tables.rows("training", "best_rate", variant="root", d_k=128).iloc[0]
    assert full["training.rates.root.last"] == with_error(row["value"], row["stderr"])
