import hashlib
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from attention_scaling.site.render import render


def read(site: Path, page: str) -> BeautifulSoup:
    return BeautifulSoup((site / page).read_text(encoding="utf-8"), "html.parser")


def text(node: Tag | None) -> str:
    assert node is not None
    return " ".join(node.get_text().split())


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_second_rendering_is_byte_identical(project: Path, site: Path, tmp_path: Path) -> None:
    render(project, tmp_path / "site", "pandoc")
    assert digests(tmp_path / "site") == digests(site)


def test_the_result_names_engine_and_pages(project: Path, tmp_path: Path) -> None:
    result = render(project, tmp_path / "site", "pandoc")
    assert result.engine == "pandoc"
    assert result.version[0].isdigit()
    assert set(result.pages) == {f"{path.stem}.html" for path in project.glob("*.qmd")}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("#title-block-header .subtitle", "41 claims reproduced, 1 differs"),
        ("main > p", "The slope is 0.5003 ± 0.0004"),
        ("main p strong", "8 000 samples"),
        ("main p code", "n = 8 000"),
        ("main p a", "to 8 000 rows"),
        ("main pre code", "python -m attention_scaling claim A13-mean-1024"),
        ("h2#with-samples", "With 8 000 samples"),
        ("div.raw b", "0.5003"),
        (".footnotes li", "A footnote with 0.0004 in it."),
        ("#tbl-verdicts td:last-child", "41"),
    ],
)
def test_a_variable_resolves_everywhere(site: Path, selector: str, expected: str) -> None:
    assert text(read(site, "index.html").select_one(selector)).startswith(expected)


def test_a_variable_resolves_in_captions_and_callout_titles(site: Path) -> None:
    caption = read(site, "figures.html").select_one("#fig-scores figcaption")
    assert "from 8 000 samples" in text(caption)
    title = read(site, "blocks.html").select_one(".callout-note .callout-title-container")
    assert text(title) == "Note A note of 8 000 samples"
    assert text(read(site, "blocks.html").select_one(".footer em")) == "8 000"


def test_figures_are_numbered_and_captioned(site: Path) -> None:
    page = read(site, "figures.html")
    captions = {
        name: text(page.select_one(f"#{name} > figure > figcaption")).split(".")[0]
        for name in ("fig-pair", "fig-left", "fig-right", "fig-single")
    }
    assert captions == {
        "fig-pair": "Figure 2: Two halves",
        "fig-left": "(a) Left",
        "fig-right": "(b) Right",
        "fig-single": "Figure 3: A single image with its caption",
    }


def test_references_take_the_wording_of_quarto(site: Path) -> None:
    page = read(site, "figures.html")
    references = [(text(a), a["href"]) for a in page.select("a.quarto-xref")]
    assert references == [
        ("Figure 1", "#fig-scores"),
        ("Figure 2", "#fig-pair"),
        ("Figure 2 (b)", "#fig-right"),
        ("Section 2", "#sec-sizes"),
        ("Equation 1", "#eq-attention"),
        ("Figure 1", "#fig-scores"),
        ("Figure 2", "#fig-pair"),
        ("Section 2.1", "#sec-side"),
        ("Figure 3", "#fig-single"),
    ]


def test_equations_carry_their_number(site: Path) -> None:
    equation = read(site, "figures.html").select_one("span#eq-attention math[display=block]")
    assert text(equation.select_one("annotation")).endswith(r"\qquad(1)")


def test_a_figure_has_a_light_and_a_dark_image_with_its_text(site: Path) -> None:
    images = read(site, "figures.html").select("#fig-scores img")
    assert [image["class"][0] for image in images] == ["fig-light", "fig-dark"]
    assert {image["alt"] for image in images} == {"Typical size of a score over the width, rising."}
    for image in images:
        assert (site / image["src"]).is_file()


def test_included_tables_are_numbered_and_keep_the_browsers_widths(site: Path) -> None:
    page = read(site, "tables.html")
    assert text(page.select_one("#tbl-wide figcaption")).startswith("Table 2: A wide table")
    assert page.select_one("main col") is None


def test_callouts_keep_kind_title_and_collapse(site: Path) -> None:
    page = read(site, "blocks.html")
    tip = page.select_one("div.callout-tip .callout-title-container")
    assert text(tip) == "Tip"
    important = page.select_one("div.callout-important .callout-title-container")
    assert text(important) == "Important A heading as title"
    assert not page.select_one("details.callout-warning").has_attr("open")
    assert page.select_one("details.callout-caution").has_attr("open")


def test_tabs_follow_the_aria_pattern_and_leave_the_headings(site: Path) -> None:
    page = read(site, "blocks.html")
    tabs = page.select(".panel-tabset [role=tablist] [role=tab]")
    assert [text(tab) for tab in tabs] == ["NumPy", "PyTorch", "CUDA"]
    for tab in tabs:
        pane = page.find(id=tab["aria-controls"])
        assert pane["role"] == "tabpanel"
        assert pane["aria-labelledby"] == tab["id"]
    assert "NumPy" not in text(page.select_one("#TOC"))


def test_the_frame_marks_the_page_and_its_neighbours(site: Path) -> None:
    page = read(site, "tables.html")
    assert text(page.title) == "Tables – Fixture site"
    assert page.select_one("meta[name=description]")["content"] == "For search engines."
    assert page.select_one(".description") is None
    assert [a["href"] for a in page.select("#quarto-sidebar [aria-current=page]")] == [
        "tables.html"
    ]
    assert page.select_one("a[rel=prev]")["href"] == "figures.html"
    assert page.select_one("a[rel=next]")["href"] == "blocks.html"


def test_a_page_with_the_same_title_as_the_site_is_named_once(
    project: Path, tmp_path: Path
) -> None:
    page = project / "tables.qmd"
    page.write_text(
        page.read_text(encoding="utf-8").replace("title: Tables", "title: Fixture site")
    )
    render(project, tmp_path / "site", "pandoc")
    assert text(read(tmp_path / "site", "tables.html").title) == "Fixture site"


def test_only_what_pages_name_is_copied(project: Path, tmp_path: Path) -> None:
    (project / "_generated/figures/unused.svg").write_text("<svg/>", encoding="utf-8")
    render(project, tmp_path / "site", "pandoc")
    assert (tmp_path / "site/_generated/downloads/data.csv").is_file()
    assert not (tmp_path / "site/_generated/figures/unused.svg").exists()


def test_a_page_in_a_folder_finds_its_way_back(project: Path, tmp_path: Path) -> None:
    (project / "more").mkdir()
    (project / "more/deep.qmd").write_text(
        "---\ntitle: Deep\n---\n\n[up](../index.qmd), [root](/tables.qmd#tbl-wide)\n\n"
        '![](/_generated/figures/scores-light.svg){fig-alt="rising"}\n',
        encoding="utf-8",
    )
    render(project, tmp_path / "site", "pandoc")
    main = read(tmp_path / "site", "more/deep.html").main
    assert [a["href"] for a in main.select("a")] == ["../index.html", "../tables.html#tbl-wide"]
    assert main.img["src"] == "../_generated/figures/scores-light.svg"
