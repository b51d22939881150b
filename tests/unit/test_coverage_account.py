import pytest
import yaml

from attention_scaling.errors import UserError
from attention_scaling.ledger import coverage
from attention_scaling.ledger.models import Coverage, Lesson

TEXT = """A lesson
5 min read
Of 100 coins about half show heads, which is 50.
The 11 others were lost."""


def lesson(claims=(), no_claim=(), **options):
    base = {"line": 3, "says": "something", "kind": "exact", "skipped": "only counted here"}
    return Lesson.model_validate(
        {
            "lesson": "coins",
            "title": "Coins",
            "file": "coins.txt",
            "claims": [base | {"id": f"X{i}"} | claim for i, claim in enumerate(claims)],
            "no_claim": list(no_claim),
        }
        | options
    )


WHOLE = {
    "claims": [{"printed": "50"}, {"numerals": ["100", "half"]}],
    "no_claim": [
        {"lines": 2, "why": "reading time"},
        {"lines": [4], "numerals": ["11"], "why": "a story"},
    ],
}


def test_every_numeral_is_claimed_or_dismissed():
    result = coverage.account(lesson(**WHOLE), TEXT)
    assert result.counts == Coverage(numerals=5, claimed=3, no_claim=2)
    assert result.open == [] and result.stray == []


def test_what_nothing_names_is_open():
    result = coverage.account(lesson([{"printed": "50"}]), TEXT)
    assert [(n.line, n.text) for n in result.open] == [(2, "5"), (3, "100"), (3, "half"), (4, "11")]


def test_entries_that_name_what_the_text_has_not_are_stray():
    result = coverage.account(
        lesson(
            [{"printed": "51"}],
            [
                {"lines": [2], "numerals": ["6"], "why": "reading time"},
                {"lines": "4-9", "why": "end"},
            ],
        ),
        TEXT,
    )
    assert result.stray == [
        "X0: 51 is not on line 3",
        "no_claim, 'reading time': 6 is not on line 2",
        "no_claim, 'end': the text has 4 lines, not 9",
    ]


def test_a_claim_counts_on_its_other_lines_too():
    text = "the size is 8\nagain 8\n8"
    result = coverage.account(lesson([{"line": 1, "also": [2], "printed": "8"}]), text)
    assert [n.line for n in result.open] == [3]


def test_a_claim_before_a_dismissal():
    no_claim = [{"lines": 3, "why": "a story"}]
    counts = coverage.account(lesson([{"printed": "50"}], no_claim), TEXT).counts
    assert (counts.claimed, counts.no_claim) == (1, 2)


def test_suggestions_can_be_pasted():
    suggested = coverage.suggest(lesson([{"printed": "50"}]), TEXT)
    claims = yaml.safe_load(suggested)["claims"]
    pasted = lesson([{"printed": "50"}, *claims])
    result = coverage.account(pasted, TEXT)
    assert result.open == [] and result.stray == []
    assert coverage.suggest(pasted, TEXT) == "# every numeral has an entry"


def test_the_report_names_what_is_open_and_the_counts(tmp_path):
    (tmp_path / "coins.txt").write_text(TEXT, encoding="utf-8")
    counted = lesson(**WHOLE, coverage={"numerals": 5, "claimed": 3, "no_claim": 2})
    assert coverage.complete([counted], tmp_path)
    assert coverage.report([counted], tmp_path).startswith("coins: 5 of 5 numerals accounted for")
    uncounted = lesson(**WHOLE)
    assert not coverage.complete([uncounted], tmp_path)
    assert "coverage: {numerals: 5, claimed: 3, no_claim: 2}" in coverage.report(
        [uncounted], tmp_path
    )
    open_ones = lesson([{"printed": "50"}])
    assert not coverage.complete([open_ones], tmp_path)
    assert "open: line 4: 11" in coverage.report([open_ones], tmp_path)


def test_a_text_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"coins\.txt: the text of lesson coins cannot be read"):
        coverage.report([lesson(**WHOLE)], tmp_path)
