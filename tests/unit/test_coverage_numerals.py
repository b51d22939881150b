import pytest

from attention_scaling.ledger.formulas import each_once
from attention_scaling.ledger.numerals import Numeral, numerals


def texts(line, **options):
    return [numeral.text for numeral in numerals(line, **options)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a sample of eight thousand pairs", ["eight thousand"]),
        ("it falls more than tenfold", ["tenfold"]),
        ("five times less, a hundred times as many", ["five", "hundred"]),
        ("Doubling the width, twice the cost, half of it", ["doubling", "twice", "half"]),
        ("twenty-two heads and two dozen more", ["twenty two", "two", "dozen"]),
        ("nearly one-hot, but one of ten", ["one", "ten"]),
        ("the second cell, someone often, the ones that", []),
        ("at 0.1755 and 65,504 and 2\N{THIN SPACE}981", ["0.1755", "65504", "2981"]),
        (r"about $163{,}000$ or $2\,981$", ["163000", "2981"]),
        ("widths (4, 16, 64)", ["4", "16", "64"]),
        ("§3.2.1 of arXiv:1706.03762 (2017)", ["3.2.1", "1706.03762", "2017"]),
        ("their 22-billion-parameter model, 8 billion", ["22 billion", "8 billion"]),
        ("float16, GPT-2", ["16", "2"]),
        (r"$e^{10}/(e^{10} + T - 1)$ for $T = 32$", ["10", "10", "1", "32"]),
        ("x² is ½", ["²", "½"]),
        ("Six by SIX", ["six", "six"]),
    ],
)
def test_what_counts_as_a_numeral(line, expected):
    assert texts(line) == expected


def test_lines_are_counted_from_one():
    assert numerals("none\n7 and 8\n\n9") == [Numeral(2, "7"), Numeral(2, "8"), Numeral(4, "9")]


@pytest.mark.parametrize(
    ("line", "once"),
    [
        ("divided by 11 (that is", ["1"]),
        ("gives 200200.", ["200"]),
        ("climbs from 0.6700.670 to 0.9530.953", ["0.670", "0.953"]),
        ("give 3−1=23 - 1 = 2.", ["3", "1", "2"]),
        ("(at dk=1\N{THIN SPACE}024d_k = 1\\,024, 0.2360.236)", ["1024", "0.236"]),
        ("is 1−1/8=0.8751 - 1/8 = 0.875)", ["1", "1", "8", "0.875"]),
        ("exp(8)≈2\N{THIN SPACE}981\\exp(8) \\approx 2\\,981 apart", ["8", "2981"]),
        ("the 2dk−12^{d_k - 1} pairs", ["2", "1"]),
        ("still ±1\\pm 1, or +1+1 or −1-1", ["1", "1", "1"]),
        ("e2=dk,e^{2} = d_k,", ["2"]),
        ("y^c−1\\hat{y}_c - 1 in the class", ["1"]),
        ("size of 1/dk1/\\sqrt{d_k}, closer", ["1"]),
        (
            "E[(e/dk)2]=1\\mathbb{E}\\left[\\left(e/\\sqrt{d_k}\\right)^{2}\\right] = 1, and",
            ["2", "1"],
        ),
    ],
)
def test_a_formula_that_stands_twice_counts_once(line, once):
    assert texts(line, formulas_twice=True) == once


@pytest.mark.parametrize(
    "line",
    [
        "rises to 0.99 until",
        "rng = np.random.default_rng(11)",
        "three needed well-grounded books",
        "10000 pairs in 2200 rows",
        "(4, 16, 64, 256, 1024)",
    ],
)
def test_what_only_looks_doubled_stays(line):
    assert each_once(line) == line


def test_only_the_latex_is_kept():
    line = "the root dk\\sqrt{d_k} of dkd_k, and Q\\mathbf{Q} alone"
    assert (
        " ".join(each_once(line).split()) == "the root \\sqrt{d_k} of d_k , and \\mathbf{Q} alone"
    )
