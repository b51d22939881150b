import errno
import shutil
from pathlib import Path

import pytest

from attention_scaling.errors import UserError
from attention_scaling.site.render import render

FRONT_MATTER = "---\ntitle: Bad\n---\n\n"


@pytest.fixture
def standing(tmp_path: Path) -> Path:
    """An earlier site, with one file that no rendering writes."""
    output = tmp_path / "_site"
    output.mkdir()
    (output / "earlier.txt").write_text("still here", encoding="utf-8")
    return output


def assert_stands(output: Path) -> None:
    assert [path.name for path in output.iterdir()] == ["earlier.txt"]
    assert sorted(path.name for path in output.parent.glob("_site*")) == ["_site"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("{{< var study.nothing >}}", "unknown variable: bad.qmd: study.nothing"),
        ("Size $d_k = {{< var study.slope >}}$.", "variable inside a formula: bad.qmd"),
        ("$$\nx = {{< var study.slope >}}\n$$", "variable inside a formula: bad.qmd"),
        ("## Slope {{< var study.slope >}}", "variable in a heading without an id: bad.qmd"),
        (
            '::: {.callout-note title="{{< var study.slope >}}"}\nx\n:::',
            "variable in the attributes of a block: bad.qmd",
        ),
        ("{{< include /_generated/nothing.md >}}", "bad.qmd: _generated/nothing.md: No such file"),
        ("{{< include bad.qmd >}}", "file includes itself: bad.qmd"),
        ("{{< video x.mp4 >}}", "unknown shortcode: bad.qmd: {{< video x.mp4 >}}"),
        ("See @fig-nothing.", "bad.qmd: nothing on the page has the label @fig-nothing"),
        ("See [@tbl-wide].", "bad.qmd: nothing on the page has the label @tbl-wide"),
        (r"Formula $\notacommand{x}$.", r"bad.qmd: Could not convert TeX math \notacommand"),
        (
            "![one](/_generated/figures/scores-light.svg){#fig-a}\n\n"
            "![two](/_generated/figures/scores-light.svg){#fig-a}\n",
            "bad.qmd: the label fig-a is used twice",
        ),
        (
            "::: {#fig-a}\n![](/_generated/figures/scores-light.svg){fig-alt='x'}\n"
            "![](/_generated/figures/scores-dark.svg){fig-alt='x'}\n\nCaption.\n:::\n",
            "bad.qmd: fig-a: Quarto shows only the first of several images in one paragraph",
        ),
        ("[there](nowhere.qmd)", "bad.html: dead link: <a> nowhere.qmd"),
        ("[there](index.qmd#nowhere)", "bad.html: dead fragment: <a> index.html#nowhere"),
        ("[data](/_generated/downloads/none.csv)", "bad.html: dead link"),
        ("![](https://example.org/x.png){fig-alt='x'}", "bad.html: request to another host"),
        ("![](/_generated/figures/scores-light.svg)", "bad.html: image without alternative text"),
    ],
)
def test_a_bad_page_is_one_line_and_leaves_the_old_site(
    project: Path, standing: Path, text: str, cause: str
) -> None:
    (project / "bad.qmd").write_text(FRONT_MATTER + text + "\n", encoding="utf-8")
    with pytest.raises(UserError) as error:
        render(project, standing, "pandoc")
    assert cause in str(error.value)
    assert "\n" not in str(error.value)
    assert_stands(standing)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("no front matter\n", "page without a title: bad.qmd"),
        ("---\nsubtitle: x\n---\n", "page without a title: bad.qmd"),
        ("---\ntitle: [unclosed\n---\n", "unreadable YAML: bad.qmd"),
        ("---\njust text\n---\n", "unreadable YAML: bad.qmd"),
    ],
)
def test_bad_front_matter_is_refused(project: Path, standing: Path, text: str, cause: str) -> None:
    (project / "bad.qmd").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=cause):
        render(project, standing, "pandoc")
    assert_stands(standing)


def test_code_and_text_between_formulas_may_hold_variables(project: Path, tmp_path: Path) -> None:
    (project / "good.qmd").write_text(
        FRONT_MATTER
        + "$$a$$ {{< var study.slope >}} $$b$$\n\n($a$; {{< var study.slope >}} ($b$)).\n\n"
        "`$x` {{< var study.slope >}} `y$`, $a$ = {{< var study.slope >}} > $b$.\n\n"
        "```bash\n# comment {{< var study.slope >}}\necho $x {{< var study.slope >}} $y\n```\n",
        encoding="utf-8",
    )
    render(project, tmp_path / "site", "pandoc")
    assert "<code>$x</code> 0.5003" in (tmp_path / "site/good.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "cause"),
    [
        ("_quarto.yml", "- figures.qmd", "- absent.qmd", "navigation names no page: _quarto.yml"),
        ("_quarto.yml", "- ledger.qmd", "- text: Ledger", "navigation entry without href"),
        ("_quarto.yml", "text: <script", "- gone.html #", "_quarto.yml: gone.html: No such file"),
        ("_quarto.yml", "title: Fixture site", "subtitle: x", "website without a title"),
        ("_quarto.yml", "website:", "website: [", "unreadable YAML: .*_quarto.yml"),
        (
            "_variables.yml",
            "study:",
            "study: [1]\nother:",
            "variable is no text or number: .*study",
        ),
        ("_variables.yml", "study:", "study: {", "unreadable YAML: .*_variables.yml"),
    ],
)
def test_bad_project_files_are_refused(
    project: Path, standing: Path, file: str, old: str, new: str, cause: str
) -> None:
    path = project / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError, match=cause):
        render(project, standing, "pandoc")
    assert_stands(standing)


def test_a_folder_without_project_or_pages_is_refused(project: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a Quarto project"):
        render(tmp_path, tmp_path / "_site", "pandoc")
    for page in project.glob("*.qmd"):
        page.unlink()
    with pytest.raises(UserError, match="project without pages"):
        render(project, tmp_path / "_site", "pandoc")


def test_an_unknown_engine_is_refused(project: Path, standing: Path) -> None:
    with pytest.raises(UserError, match="unknown engine: jekyll: allowed are auto, quarto, pandoc"):
        render(project, standing, "jekyll")
    assert_stands(standing)


def test_a_new_site_takes_the_place_of_the_old_one_whole(project: Path, standing: Path) -> None:
    shutil.copytree(standing, standing.with_name("_site.new"))  # left behind by a killed run
    shutil.copytree(standing, standing.with_name("_site.old"))
    render(project, standing, "pandoc")
    assert (standing / "index.html").is_file()
    assert not (standing / "earlier.txt").exists()
    assert sorted(path.name for path in standing.parent.glob("_site*")) == ["_site"]


@pytest.mark.parametrize(
    ("failure", "seen"),
    [
        (OSError(errno.EACCES, "refused", "_site.new"), UserError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=["refused", "interrupted"],
)
def test_a_swap_that_fails_puts_the_old_site_back(
    project: Path,
    standing: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    seen: type[BaseException],
) -> None:
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.name == "_site.new":
            raise failure
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(seen, match="site cannot be written: _site.new: refused|^$"):
        render(project, standing, "pandoc")
    assert_stands(standing)


@pytest.mark.parametrize("empty_folder", [False, True], ids=["nothing there", "empty folder there"])
def test_a_site_that_a_killed_swap_left_aside_stands_again_when_the_next_render_fails(
    project: Path, standing: Path, empty_folder: bool
) -> None:
    standing.rename(standing.with_name("_site.old"))
    if empty_folder:
        standing.mkdir()
    (project / "bad.qmd").write_text(FRONT_MATTER + "[there](nowhere.qmd)\n", encoding="utf-8")
    with pytest.raises(UserError, match="dead link"):
        render(project, standing, "pandoc")
    assert_stands(standing)


def test_what_is_in_the_way_of_the_swap_is_named(project: Path, standing: Path) -> None:
    old = standing.with_name("_site.old")
    old.write_text("in the way", encoding="utf-8")
    with pytest.raises(UserError, match="site cannot be written: .*_site.old: Not a directory"):
        render(project, standing, "pandoc")
    old.unlink()
    assert_stands(standing)


def test_a_place_that_cannot_be_written_is_one_line(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="site cannot be written: .*: Not a directory"):
        render(project, tmp_path / "file" / "site", "pandoc")
