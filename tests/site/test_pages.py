"""The real pages, made from a full and from a poor study: rendered, checked, complete."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from reader_study import ROOT, Study, full_study, study_of

from attention_scaling.errors import UserError
from attention_scaling.figures import REGISTRY
from attention_scaling.figures.outcomes import outcomes
from attention_scaling.figures.writing import write_all
from attention_scaling.site import pages
from attention_scaling.site.check import check
from attention_scaling.site.render import render
from attention_scaling.site.variables import NOT_MEASURED

BENCHMARKS = ROOT / "reports" / "bench" / "ratios.csv"


def site_of(study: Study, folder: Path) -> Path:
    """The site of a study. Rendering checks it: variables, references, links, images, ids."""
    reports = folder / "reports"
    reports.mkdir()
    for page in [*(ROOT / "reports").glob("*.qmd"), ROOT / "reports" / "_quarto.yml"]:
        shutil.copyfile(page, reports / page.name)
    shutil.copytree(ROOT / "reports" / "assets", reports / "assets")
    write_all(study.tables, reports / "_generated" / "figures")
    pages.write(study.tables, study.lessons, study.provenance, study.results, BENCHMARKS, reports)
    render(reports, folder / "site", "pandoc")
    return folder / "site"


@pytest.fixture(scope="module")
def full_site(tmp_path_factory) -> Path:
    return site_of(full_study(), tmp_path_factory.mktemp("full"))


def soup(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def test_the_site_of_a_full_study_is_sound(full_site):
    assert check(full_site) == []
    assert NOT_MEASURED not in soup(full_site / "index.html").get_text()


def test_every_figure_stands_on_its_page_in_both_themes(full_site):
    for entry in REGISTRY.values():
        figure = soup(full_site / f"{entry.page}.html").find(id=f"fig-{entry.name}")
        images = figure.find_all("img")
        assert [image["class"][0] for image in images] == ["fig-light", "fig-dark"]
        assert all(len(image["alt"]) > 60 for image in images)
        assert len(figure.find("figcaption").get_text()) > 60


def test_the_site_of_a_study_without_most_experiments_is_sound_and_says_so(tmp_path):
    site = site_of(study_of("precision"), tmp_path)
    assert check(site) == []
    assert NOT_MEASURED in soup(site / "saturation.html").get_text()
    assert "did not run the experiment saturation" in soup(site / "saturation.html").get_text()
    assert "This study did not run it." in soup(site / "measurements.html").get_text()


def test_the_ledger_has_every_claim_with_its_outcome(full_site):
    study = full_study()
    found = outcomes(study.tables.verdicts)
    table = soup(full_site / "ledger.html").select_one(".filterable table")
    headers = [cell.get_text() for cell in table.select("thead th")]
    rows = {
        row.find("a")["id"]: dict(zip(headers, row.find_all("td"), strict=True))
        for row in table.select("tbody tr")
    }
    assert list(rows) == list(found.index)
    for claim, outcome in found.items():
        assert rows[claim]["Verdict"].get_text(strip=True) == outcome
    entries = {claim.id: (lesson, claim) for lesson in study.lessons for claim in lesson.entries}
    for claim_id, cells in rows.items():
        lesson, claim = entries[claim_id]
        assert f"line {claim.line}" in cells["Claim"].get_text()
        assert cells["Lesson"].get_text() == lesson.lesson
        if claim.printed:
            assert cells["Claimed"].get_text() == claim.printed


def test_each_claim_in_full_leads_to_its_row_and_its_command(full_site):
    study = full_study()
    page = soup(full_site / "claims.html")
    rows = {
        cell["id"]: cell.find_parent("tr").get_text(" ")
        for cell in soup(full_site / "measurements.html").select("td[id]")
    }
    details = {part["id"]: part for part in page.select(".claim")}
    for claim_id, verdicts in study.tables.verdicts.groupby("claim"):
        detail = details[f"claim-{claim_id}"]
        assert f"python -m attention_scaling claim {claim_id}" in detail.get_text()
        assert detail.find("a", href=f"ledger.html#{claim_id}")
        judged = verdicts[verdicts["value"].notna() & ~verdicts["backend"].isna()]
        links = [a["href"] for a in detail.select('td a[href^="measurements.html#"]')]
        assert len(links) == len(judged)
        for link, verdict in zip(links, judged.itertuples(), strict=True):
            row = rows[link.partition("#")[2]]
            assert verdict.quantity in row
            assert verdict.method in row


def test_every_measurement_stands_on_its_page(full_site):
    table = full_study().tables.measurements
    cells = table[table["value"].notna()].groupby(
        ["experiment", "quantity", "d_k", "n_keys", "rho", "divisor", "distribution"]
        + ["step", "cell", "variant", "dtype", "method"],
        dropna=False,
    )
    rows = soup(full_site / "measurements.html").select("main table tbody tr")
    assert len(rows) == cells.ngroups


def test_the_tables_can_be_downloaded(full_site):
    study = full_study()
    links = {
        a["href"]
        for page in ("index.html", "provenance.html")
        for a in soup(full_site / page).select("a[href*=downloads]")
    }
    names = {f"{table}.{kind}" for table in pages.DOWNLOADS for kind in ("csv", "parquet")}
    assert {Path(link).name for link in links} == names | {"provenance.json"}
    for name in names:
        served = full_site / "_generated" / "downloads" / name
        assert served.read_bytes() == (study.results / name).read_bytes()
    rows = 0
    for table in ("measurements", "timings"):
        with (full_site / f"_generated/downloads/{table}.csv").open(encoding="utf-8") as file:
            rows += sum(1 for _ in csv.DictReader(file))
    assert rows == len(study.tables.measurements)


def test_provenance_names_machine_commit_and_jobs(full_site):
    facts = full_study().provenance
    text = soup(full_site / "provenance.html").get_text()
    for fact in (facts["commit"], facts["python"], facts["versions"]["numpy"]):
        assert fact in text
    jobs = soup(full_site / "provenance.html").select("#tbl-jobs tbody tr")
    assert len(jobs) == len(facts["jobs"])
    assert facts["jobs"][0]["host"] in jobs[0].get_text()


def test_pages_are_the_same_on_every_run(tmp_path):
    study = full_study()
    for run in ("first", "second"):
        pages.write(
            study.tables, study.lessons, study.provenance, study.results, BENCHMARKS, tmp_path / run
        )
    files = sorted(path for path in (tmp_path / "first").rglob("*") if path.is_file())
    assert len(files) > 15
    for file in files:
        other = tmp_path / "second" / file.relative_to(tmp_path / "first")
        assert file.read_bytes() == other.read_bytes()


def test_a_missing_table_or_provenance_is_one_line(tmp_path):
    study = full_study()
    with pytest.raises(UserError, match="measurements.csv: no such file"):
        pages.write(
            study.tables,
            study.lessons,
            study.provenance,
            tmp_path,
            BENCHMARKS,
            tmp_path / "reports",
        )
    with pytest.raises(UserError, match="provenance.json: cannot be read"):
        pages.read_provenance(tmp_path / "provenance.json")
