import textwrap

import pytest

from attention_scaling.errors import UserError
from attention_scaling.ledger.loading import load_lesson, load_lessons

CLAIM = """
  - id: X1
    line: 3
    says: the mean is a half
    kind: replayed
    printed: "0.50"
    measure: {experiment: coins, quantity: mean, where: {d_k: 4, divisor: none}}
"""


def write(
    folder, name="a.yaml", claims=CLAIM, head="lesson: coins\ntitle: Coins\nfile: coins.txt\n"
):
    path = folder / name
    path.write_text(head + "claims:" + textwrap.dedent(claims), encoding="utf-8")
    return path


def refused(path):
    with pytest.raises(UserError) as caught:
        load_lesson(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


def test_a_claim_is_read(tmp_path):
    claim = load_lesson(write(tmp_path)).entries[0]
    assert claim.claimed == 0.5
    assert claim.comparison == "equals"
    assert claim.measure.where.conditions() == {"d_k": 4, "divisor": "none"}
    assert claim.accounted == ["0.50"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("says:", "sais:", ":7: claims.X1.sais: unknown key"),
        ("line: 3", "line: 0", ":6: claims.X1.line: Input should be greater than or equal to 1"),
        ("kind: replayed", "kind: guessed", ":8: claims.X1.kind: Input should be"),
        ('"0.50"', "0.50", ":9: claims.X1.printed: must be quoted"),
        ('"0.50"', '"a half"', ":5: claims.X1: 'a half' is not a printed number"),
        ("d_k: 4", "dk: 4", ":10: claims.X1.measure.where.dk: unknown key"),
        ("divisor: none", "divisor: cube", ":10: claims.X1.measure.where.divisor: Input should be"),
        ("    measure:", "    #", ":5: claims.X1: needs measure"),
        ("    printed:", "    #", ":5: claims.X1: needs exactly one of printed and value"),
        ("line: 3", "line: 3\n    line: 4", ":7: not valid YAML: the key 'line' stands twice"),
        ("kind: replayed", "kind: cited", ":5: claims.X1: cited (the source) and kind: cited"),
        ("line: 3", "line: 3\n    value: 0.5", ":5: claims.X1: needs exactly one of"),
        ("line: 3", "line: 3\n    single_run: true", ":5: claims.X1: single_run goes with"),
        ("line: 3", "line: 3\n    compare: between", ":5: claims.X1: needs exactly one of range"),
        ("line: 3", "line: 3\n    rounded_to: tenths", ":5: claims.X1: 'tenths' is not a printed"),
        ("line: 3", "line: 3\n    rounded_to: '0'", ":5: claims.X1: rounded_to: '0' is not a unit"),
        ("line: 3", f"line: 3\n    value: {'9' * 400}/7", ":7: claims.X1.value: Input should be"),
        ("line: 3", "line: 3\n    range: [1]", ":7: claims.X1.range.1: Field required"),
        (
            'printed: "0.50"',
            "compare: between\n    range: [2, 1]",
            ":5: claims.X1: range: [2.0, 1.0] ends before it begins",
        ),
        ("line: 3", "line: [", ":"),
    ],
)
def test_a_mistake_is_told_with_line_and_key(tmp_path, old, new, message):
    assert CLAIM.count(old) == 1
    assert message in refused(write(tmp_path, claims=CLAIM.replace(old, new)))


def test_a_missing_key_is_named(tmp_path):
    message = refused(write(tmp_path, head="lesson: coins\nfile: coins.txt\n"))
    assert message == ":1: title: Field required"


def test_tags_build_nothing(tmp_path):
    path = write(
        tmp_path, claims=CLAIM.replace("line: 3", "line: !!python/object/apply:os.getpid []")
    )
    assert "not valid YAML" in refused(path)


def test_a_missing_file_is_one_line(tmp_path):
    assert "no such file" in refused(tmp_path / "nothing.yaml")


def test_equal_ids_in_two_lessons_are_refused(tmp_path):
    write(tmp_path)
    write(tmp_path, "b.yaml", head="lesson: dice\ntitle: Dice\nfile: dice.txt\n")
    with pytest.raises(UserError, match=r"b\.yaml: claims: the id X1 stands also in .*a\.yaml"):
        load_lessons(tmp_path)


def test_equal_lesson_names_are_refused(tmp_path):
    write(tmp_path)
    write(tmp_path, "b.yaml", claims=CLAIM.replace("X1", "X2"))
    with pytest.raises(UserError, match="lesson: coins is also"):
        load_lessons(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(UserError, match="no ledger files"):
        load_lessons(tmp_path)


def test_what_nothing_measures_is_refused(tmp_path):
    write(tmp_path)
    assert load_lessons(tmp_path, {"coins": ["mean"]})
    with pytest.raises(UserError, match=r"X1\.measure\.experiment: coins is no experiment"):
        load_lessons(tmp_path, {"dice": ["mean"]})
    with pytest.raises(UserError, match=r"X1\.measure\.quantity: .* allowed are median, spread"):
        load_lessons(tmp_path, {"coins": ["spread", "median"]})


def test_a_skipped_claim_asks_for_nothing(tmp_path):
    write(tmp_path, claims=CLAIM.replace("line: 3", "line: 3\n    skipped: not yet"))
    assert load_lessons(tmp_path, {"dice": ["mean"]})[0].entries[0].queries == []


TABLE = """
  - id: T
    line: 9
    says: printed table
    kind: replayed
    table:
      experiment: coins
      where: {cell: T}
      columns:
        - {name: mean, says: mean, quantity: mean}
        - {name: size, says: size, quantity: size}
      rows:
        - {name: "4", where: {d_k: 4}, printed: ["0.10", "2.00"]}
        - {name: "16", where: {d_k: 16}, printed: ["-0.20", "4.01"]}
"""


def test_a_table_is_one_claim_a_cell(tmp_path):
    claims = load_lesson(write(tmp_path, claims=TABLE)).entries
    assert [claim.id for claim in claims] == ["T-mean-4", "T-size-4", "T-mean-16", "T-size-16"]
    assert claims[2].printed == "-0.20"
    assert claims[3].measure.quantity == "size"
    assert claims[3].measure.where.conditions() == {"cell": "T", "d_k": 16}
    assert all(claim.accounted == [] for claim in claims)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["0.10", "2.00"]', '["0.10"]', "row 4 prints 1 numbers for 2 columns"),
        ('"2.00"', "2.00", ":16: claims.T.table.rows.0.printed.1: must be quoted"),
        ("where: {d_k: 16}", "when: {d_k: 16}", ":17: claims.T.table.rows.1.when: unknown key"),
    ],
)
def test_a_mistake_in_a_table_is_told(tmp_path, old, new, message):
    assert message in refused(write(tmp_path, claims=TABLE.replace(old, new)))


def test_fractions_are_data(tmp_path):
    claims = CLAIM.replace('printed: "0.50"', "value: 1/6")
    assert load_lesson(write(tmp_path, claims=claims)).entries[0].claimed == 1 / 6


SERIES = """
  - id: S
    line: 9
    says: the size is that of the root
    kind: replayed
    measure: {experiment: coins, quantity: size, where: {divisor: none}}
    cells:
      - {name: "4", where: {d_k: 4}, printed: "2.00"}
      - {name: "16", where: {d_k: 16}, printed: "4.1", differs: a slip}
"""


def test_a_series_is_one_claim_a_cell(tmp_path):
    lesson = load_lesson(write(tmp_path, claims=SERIES))
    first, second = lesson.entries
    assert (first.id, second.id) == ("S-4", "S-16")
    assert second.measure.where.conditions() == {"divisor": "none", "d_k": 16}
    assert (first.differs, second.differs) == (None, "a slip")
    assert lesson.claims[0].accounted == ["2.00", "4.1"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('printed: "2.00"', 'printed: "two"', "S: cell 4: 'two' is not a printed number"),
        (', printed: "2.00"', "", "S: cell 4: needs exactly one of printed and value"),
        ("where: {d_k: 16}", "d_k: 16", ":12: claims.S.cells.1.d_k: unknown key"),
    ],
)
def test_a_mistake_in_a_series_is_told(tmp_path, old, new, message):
    assert message in refused(write(tmp_path, claims=SERIES.replace(old, new)))
