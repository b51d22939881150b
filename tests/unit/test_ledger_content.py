"""The ledger files of the repository: complete, in step with the texts, with the config and with the figures."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attention_scaling import backends, experiments
from attention_scaling.experiments import identities
from attention_scaling.figures import REGISTRY as FIGURES
from attention_scaling.ledger import coverage
from attention_scaling.ledger.findings import EPSILON
from attention_scaling.ledger.judging import judge, unexpected
from attention_scaling.ledger.loading import load_lesson, load_lessons
from attention_scaling.measurement import Measurement
from attention_scaling.settings import load_config
from attention_scaling.theory.softmax_means import softmax_mean

ROOT = Path(__file__).parents[2]
KNOWN = {name: entry.module().QUANTITIES for name, entry in experiments.REGISTRY.items()}
CONFIG = load_config(ROOT / "config" / "config.yaml")
LESSONS = load_lessons(ROOT / "config" / "lessons", KNOWN)
EXAMPLE = ROOT / "config" / "example-lesson"
TEXTS = Path(os.environ.get("LESSONS_DIR", ROOT / CONFIG.study.lessons_dir))


def claims():
    return [claim for lesson in LESSONS for claim in lesson.entries]


@pytest.fixture(scope="module")
def measurements():
    """What the experiments that serve the ledger alone measure, on NumPy."""
    backend = backends.load("numpy")
    rows = [
        row
        for name in ("identities", "lesson_cells", "reconstruction")
        for row in experiments.get(name).module().measure(CONFIG.experiment(name), backend)
    ]
    rows += identities.exact(identities.Settings())
    return pd.DataFrame([vars(row) for row in rows])


@pytest.fixture(scope="module")
def verdicts(measurements):
    return judge(LESSONS, measurements, missing="skip")


@pytest.mark.parametrize(
    "row",
    [*(f"A{n}" for n in range(1, 17)), *(f"B{n}" for n in range(1, 21)), "C1", "C2", "C3", "C4"],
)
def test_every_statement_of_the_lessons_has_an_entry(row):
    assert any(re.fullmatch(rf"{row}(-.*)?", claim.id) for claim in claims())


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.lesson)
def test_every_numeral_is_accounted_for_and_the_counts_are_those_of_the_text(lesson):
    if not (TEXTS / lesson.file).exists():
        pytest.skip(f"the lesson's text {TEXTS / lesson.file} is not at hand")
    result = coverage.account(lesson, coverage.read_text(lesson, TEXTS))
    assert result.open == []
    assert result.stray == []
    assert result.counts == lesson.coverage


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.lesson)
def test_the_recorded_counts_leave_no_numeral_open(lesson):
    counts = lesson.coverage
    assert counts.claimed + counts.no_claim == counts.numerals > 0


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.lesson)
def test_the_words_are_our_own(lesson):
    path = TEXTS / lesson.file
    if not path.exists():
        pytest.skip(f"the lesson's text {path} is not at hand")

    def runs(text):
        words = re.findall(r"[a-z0-9.]+", text.lower())
        return {" ".join(words[i : i + 9]) for i in range(len(words) - 8)}

    theirs = runs(path.read_text(encoding="utf-8"))
    copied = [claim.id for claim in lesson.entries if runs(claim.says) & theirs]
    assert copied == []


def test_the_cells_asked_for_are_cells_of_the_full_study():
    outside = []
    for claim in claims():
        for query in claim.queries:
            settings = CONFIG.experiment(query.experiment)
            for column, field in (
                ("d_k", "widths"),
                ("n_keys", "key_counts"),
                ("rho", "correlations"),
                ("distribution", "distributions"),
            ):
                wanted, offered = getattr(query.where, column), getattr(settings, field, None)
                if query.where.method == "enumeration" and column == "d_k":
                    offered = getattr(settings, "enumerated_widths", None)
                if wanted is not None and offered is not None and wanted not in offered:
                    outside.append(f"{claim.id}: {column} = {wanted}")
    assert outside == []


def test_no_equality_leaves_a_tenth_to_rounding():
    """Weights and shares are at most 1: what may be off by much of that cannot fail."""
    for claim in claims():
        if claim.value is not None and claim.comparison == "equals" and claim.measure:
            settings = CONFIG.experiment(claim.measure.experiment)
            dtypes = [claim.measure.where.dtype or getattr(settings, "dtypes", ["float64"])]
            coarsest = max(EPSILON[dtype] for dtype in np.ravel(dtypes))
            assert claim.roundings * coarsest < 0.1, claim.id


def test_figures_and_pages_exist():
    pages = {path.stem for path in (ROOT / "reports").glob("*.qmd")}
    for claim in claims():
        assert claim.figure is None or claim.figure in FIGURES, claim.id
        assert claim.page is None or claim.page in pages, claim.id


def test_every_printed_cell_of_the_replayed_tables_is_reproduced(verdicts):
    cells = verdicts[verdicts["claim"].str.fullmatch(r"(A13|A14|C1|C2)-[a-z]+-[a-z0-9-]+")]
    cells = cells[~cells["claim"].str.contains("prose")]
    assert len(cells) == 20 + 18 + 6 + 4
    assert set(cells["verdict"]) == {"reproduced"}
    example = verdicts[verdicts["claim"].str.startswith("C3-")]
    assert list(example["verdict"]) == ["reproduced"] * 4


def test_all_nine_printed_weights_of_the_six_scores_come_out(verdicts):
    weights = verdicts[verdicts["claim"].str.fullmatch("A2-(none|root|width)-[0-9]+")]
    assert list(weights["verdict"]) == ["reproduced"] * 9


def test_what_the_prose_rounds_wrongly_is_found_and_nothing_else(verdicts):
    differing = verdicts[verdicts["verdict"] == "differs"]
    assert set(differing["claim"]) == {
        "A14-prose-divided-top-8",
        "A14-prose-divided-share-8",
        "A14-prose-divided-derivative-8",
        "A14-prose-divided-derivative-64",
    }
    assert differing["explanation"].notna().all()
    assert unexpected(verdicts).empty


@pytest.fixture(scope="module")
def example(measurements):
    exact = Measurement(
        experiment="saturation",
        quantity="top_weight",
        method="quadrature",
        d_k=64,
        n_keys=32,
        divisor="root",
        value=softmax_mean("top_weight", n_keys=32, d_k=64, divisor="root").value,
        stderr=0.0,
    )
    return pd.concat([measurements, pd.DataFrame([vars(exact)])], ignore_index=True)


def test_the_example_lesson_shows_its_wrong_number(example):
    lessons = load_lessons(EXAMPLE, KNOWN)
    found = judge(lessons, example).set_index("claim")["verdict"]
    assert found["EK-largest"] == "differs"
    assert set(found.drop("EK-largest")) == {"reproduced"}
    assert coverage.complete(lessons, EXAMPLE)


def test_without_its_explanation_the_wrong_number_fails_the_run(example, tmp_path):
    text = (EXAMPLE / "eight-keys.yaml").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.strip().startswith("differs:")]
    path = tmp_path / "eight-keys.yaml"
    path.write_text("\n".join(kept), encoding="utf-8")
    surprises = unexpected(judge([load_lesson(path)], example))
    assert list(surprises["claim"]) == ["EK-largest"]
