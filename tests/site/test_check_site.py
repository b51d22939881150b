from pathlib import Path

import pytest

from attention_scaling.errors import UserError
from attention_scaling.site.check import check

PAGE = """<!DOCTYPE html>
<html lang="en"><head><title>Page</title><link rel="stylesheet" href="style.css"></head>
<body>
<main>
<h1 id="top-heading">Page</h1>
<a href="other.html#place">other</a> <a href="#top-heading">here</a> <a href="#">top</a>
<a href="#verdict=differs&amp;q=root">filtered</a> <a href="./">start</a>
<a href="https://example.org/">elsewhere</a> <a href="mailto:a@example.org">mail</a>
<img src="image.svg" alt="a picture"> <img src="data:image/gif;base64,R0" alt="" aria-hidden="true">
<a href="data.csv">download</a>
{extra}
</main>
</body></html>
"""
OTHER = """<html lang="en"><head><title>Other</title></head>
<body><p id="place">Place</p></body></html>"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    files = {
        "index.html": PAGE.format(extra=""),
        "other.html": OTHER,
        "style.css": "a { background: url(image.svg) }",
        "image.svg": "<svg/>",
        "data.csv": "a,b",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_sound_site_has_no_problems(site: Path) -> None:
    assert check(site) == []


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        ("<p>?var:study.slope</p>", "unresolved: ?var:study.slope"),
        ('<a href="data.csv" title="?var:a.b">x</a>', "unresolved: ?var:a.b"),
        ("<strong>?@fig-x</strong>", "unresolved: ?@fig-x"),
        ("<pre>{{&lt; var a.b &gt;}}</pre>", "unresolved: {{< var a.b >}}"),
        ('<a href="gone.html">x</a>', "dead link: <a> gone.html"),
        ('<a href="../outside.html">x</a>', "dead link: <a> ../outside.html"),
        ('<a href="gone.csv">x</a>', "dead link: <a> gone.csv"),
        ('<a href="other.html#gone">x</a>', "dead fragment: <a> other.html#gone"),
        ('<a href="#gone">x</a>', "dead fragment: <a> #gone"),
        ('<a href="/index.html">x</a>', "absolute path, which breaks under a sub-path: <a> /index"),
        ('<img src="gone.png" alt="x">', "dead link: <img> gone.png"),
        ('<img src="image.svg">', "image without alternative text: image.svg"),
        ('<img src="image.svg" alt="">', "image without alternative text: image.svg"),
        ('<p id="top-heading">again</p>', "id used 2 times: top-heading"),
        (
            '<img src="//example.org/x.png" alt="x">',
            "request to another host: <img> //example.org/x.png",
        ),
        (
            '<img srcset="image.svg 1x, https://example.org/x.png 2x" src="image.svg" alt="x">',
            "request to another host: <img> https://example.org/x.png",
        ),
        (
            '<script src="https://example.org/x.js"></script>',
            "request to another host: <script> https://example.org/x.js",
        ),
        (
            "<style>@import 'https://example.org/x.css';</style>",
            "request to another host: <style> https://example.org/x.css",
        ),
        (
            "<p style=\"background: url('https://example.org/x.png')\">x</p>",
            "request to another host: <p> https://example.org/x.png",
        ),
        ('<iframe src="gone.html"></iframe>', "dead link: <iframe> gone.html"),
    ],
)
def test_a_fault_in_a_page_is_found(site: Path, extra: str, what: str) -> None:
    (site / "index.html").write_text(PAGE.format(extra=extra), encoding="utf-8")
    problems = check(site)
    assert [problem.page for problem in problems] == ["index.html"]
    assert problems[0].what.startswith(what)


@pytest.mark.parametrize(
    ("css", "what"),
    [
        ("@import url(https://example.org/font.css);", "request to another host"),
        ('@import "https://example.org/font.css";', "request to another host"),
        ("a { src: url('//example.org/font.woff2') }", "request to another host"),
        ("a { background: url(gone.png) }", "dead link"),
    ],
)
def test_a_fault_in_a_stylesheet_is_found(site: Path, css: str, what: str) -> None:
    (site / "style.css").write_text(css, encoding="utf-8")
    assert [(problem.page, problem.what.split(":")[0]) for problem in check(site)] == [
        ("style.css", what)
    ]


def test_comments_and_embedded_images_in_stylesheets_are_no_requests(site: Path) -> None:
    (site / "style.css").write_text(
        "/* @import url(https://example.org/font.css); */\n"
        """a { background: url("data:image/svg+xml,%3csvg xmlns='http://www.w3.org/2000/svg'/%3e") }""",
        encoding="utf-8",
    )
    assert check(site) == []


def test_a_page_needs_language_and_title(site: Path) -> None:
    (site / "other.html").write_text(
        OTHER.replace(' lang="en"', "").replace("<title>Other</title>", ""), encoding="utf-8"
    )
    assert [str(problem) for problem in check(site)] == [
        "other.html: no <title>",
        "other.html: no language on <html>",
    ]


def test_scripts_are_not_text(site: Path) -> None:
    script = '<script>const unresolved = "?var:a.b {{< var x >}}";</script>'
    (site / "index.html").write_text(PAGE.format(extra=script), encoding="utf-8")
    assert check(site) == []


def test_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no site"):
        check(tmp_path)
