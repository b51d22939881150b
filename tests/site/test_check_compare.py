import shutil
from pathlib import Path

import pytest

from attention_scaling.site.compare import compare, summarise


def test_a_site_equals_itself(site: Path) -> None:
    assert compare(site, site) == []


def test_a_summary_holds_what_readers_rely_on(site: Path) -> None:
    summary = summarise(site / "figures.html")
    assert summary.title == "Figures and formulas – Fixture site"
    assert ("h3", "sec-side", "Side by side") in summary.headings
    assert [name for name, _, _ in summary.figures] == [
        "fig-scores",
        "fig-pair",
        "fig-left",
        "fig-right",
        "fig-single",
    ]
    assert summary.references[0] == ("Figure 1", "#fig-scores")
    assert summarise(site / "tables.html").tables[0][1] == ("4", "2.01", "reproduced")
    assert summarise(site / "index.html").words[:6] == (
        "Overview",
        "41",
        "claims",
        "reproduced,",
        "1",
        "differs",
    )


@pytest.mark.parametrize(
    ("page", "old", "new", "difference"),
    [
        ("index.html", "0.5003 ±", "0.5004 ±", "index.html: words: '0.5003' and '0.5004'"),
        ("index.html", 'id="verdicts"', 'id="verdict"', "index.html: headings: ('h2', 'verdicts'"),
        ("figures.html", "scores-dark.svg", "scores-dim.svg", "figures.html: figures: "),
        ("figures.html", ">Figure\xa02</a>", ">Figure\xa04</a>", "figures.html: references: "),
        ("tables.html", "<td>no</td>", "<td>yes</td>", "tables.html: tables: "),
        ("blocks.html", "<title>", "<title>New ", "blocks.html: title: "),
    ],
)
def test_a_difference_is_found(
    site: Path, tmp_path: Path, page: str, old: str, new: str, difference: str
) -> None:
    changed = shutil.copytree(site, tmp_path / "changed")
    text = (changed / page).read_text(encoding="utf-8")
    assert old in text
    (changed / page).write_text(text.replace(old, new, 1), encoding="utf-8")
    assert any(line.startswith(difference) for line in compare(site, changed))


def test_a_page_of_one_site_only_is_found(site: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(site, tmp_path / "changed")
    (changed / "tables.html").unlink()
    assert compare(site, changed) == ["tables.html: only in one of the sites"]
