"""Renders a Quarto website project with Pandoc."""

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import pypandoc

from attention_scaling.errors import UserError
from attention_scaling.site.pandoc.navigation import footer, page_variables
from attention_scaling.site.project import Page, Project

_HERE = Path(__file__).parent
_SHELL_FILES = ("shell.css", "shell.js")
_RAW = re.compile(r"^```\{=html\}\n.*?^```$", re.DOTALL | re.MULTILINE)
# Pandoc writes a quotation mark in text as &quot;, so this finds attributes and nothing else.
_REFERENCE = re.compile(r'(?<=\s)(href|src)="([^"]+)"')


def version() -> str:
    """Pandoc's version, such as `3.9`."""
    return pypandoc.get_pandoc_version()


def render(project: Project, output: Path) -> None:
    """Write the site of `project` into the folder `output`, with its search index.

    Raises UserError that names the page and what Pandoc could not make of it.
    """
    files = _listed_resources(project)
    html = _convert(project)
    for page in project.pages:
        target = output / page.href
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_localise(project, page, html[page.path], files), encoding="utf-8")
    for file in sorted(files):
        (output / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(project.root / file, output / file)
    (output / "site_libs").mkdir()
    for name in _SHELL_FILES:
        shutil.copyfile(_HERE / name, output / "site_libs" / name)
    _index(output)


def _convert(project: Project) -> dict[str, str]:
    """The HTML of every page, by its path; one Pandoc process a core shares the pages."""
    workers = min(os.cpu_count() or 1, len(project.pages))
    shares: list[list[Page]] = [[] for _ in range(workers)]
    for page in sorted(project.pages, key=_work, reverse=True):
        min(shares, key=lambda share: sum(map(_work, share))).append(page)
    with ThreadPoolExecutor(workers) as pool:
        results = pool.map(partial(_convert_share, project), filter(None, shares))
        return {path: html for result in results for path, html in result.items()}


def _work(page: Page) -> int:
    """How much Markdown there is to parse: HTML tables, however long, pass through as they are."""
    return len(_RAW.sub("", page.source))


def _convert_share(project: Project, pages: list[Page]) -> dict[str, str]:
    html = project.html
    job = {
        "template": (_HERE / "page.html").read_text(encoding="utf-8"),
        "footer": footer(project),
        "toc_depth": html.get("toc-depth", 3),
        "pages": [
            {
                "source": page.source,
                "toc": bool(page.meta.get("toc", html.get("toc", False))),
                "variables": page_variables(project, page),
            }
            for page in pages
        ],
    }
    process = subprocess.run(
        [pypandoc.get_pandoc_path(), "lua", str(_HERE / "build.lua")],
        input=json.dumps(job),
        capture_output=True,
        encoding="utf-8",
    )
    if process.returncode:
        raise UserError(f"Pandoc failed: {project.root}: {process.stderr}")
    results = json.loads(process.stdout)
    for page, result in zip(pages, results, strict=True):
        if result["problems"]:
            raise UserError(f"page cannot be rendered: {page.path}: {result['problems'][0]}")
    return {page.path: result["html"] for page, result in zip(pages, results, strict=True)}


def _localise(project: Project, page: Page, html: str, files: set[str]) -> str:
    """Make every link in `html` relative and to `.html`; add the project's files it names to `files`."""
    folder = posixpath.dirname(page.path)

    def relative(match: re.Match[str]) -> str:
        url = urlsplit(match[2])
        if url.scheme or url.netloc or not url.path:
            return match[0]
        start = "" if url.path.startswith("/") else folder
        target = posixpath.normpath(posixpath.join(start, url.path.lstrip("/")))
        if (project.root / unquote(target)).is_file() and not target.startswith(".."):
            if target.endswith(".qmd"):
                target = target.removesuffix(".qmd") + ".html"
            else:
                files.add(unquote(target))
        path = posixpath.relpath(target, folder or ".")
        return f'{match[1]}="{urlunsplit(url._replace(path=path))}"'

    return _REFERENCE.sub(relative, html)


def _listed_resources(project: Project) -> set[str]:
    """Files named under `project: resources:`, for what no page links to, such as a style's fonts."""
    patterns = project.config.get("project", {}).get("resources") or []
    return {
        path.relative_to(project.root).as_posix()
        for pattern in patterns
        for path in project.root.glob(pattern)
        if path.is_file()
    }


def _index(site: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "pagefind", "--site", str(site), "--keep-index-url", "--silent"],
        capture_output=True,
        encoding="utf-8",
    )
    if process.returncode:
        raise UserError(f"search index failed: {site}: {process.stderr or process.stdout}")
    # shell.js has its own search field; Pagefind's ready-made ones are of no use here.
    for file in (site / "pagefind").glob("pagefind-*"):
        if file.suffix in {".css", ".js"} and file.name != "pagefind-worker.js":
            file.unlink()
