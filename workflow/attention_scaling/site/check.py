"""What must hold of a finished site, whichever engine rendered it.

Quarto warns of an unknown variable or reference, prints `?var:name` or `?@label`, and succeeds; so a
site is read again after rendering.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from attention_scaling.errors import UserError
from attention_scaling.site.dom import Node, read_page

# Attributes whose address the browser requests by itself; a plain link is followed by the reader.
_REQUESTED = {
    "img": ("src", "srcset"),
    "script": ("src",),
    "link": ("href",),
    "iframe": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
_FOLLOWED = {"a": ("href",), "area": ("href",)}
_INERT_LINKS = {"canonical", "next", "prev", "author", "license", "help"}
_INERT_SCHEMES = {"data", "mailto", "javascript", "tel", "about"}
_UNRESOLVED = re.compile(r"\?var:[\w.-]*|\?@[\w-]*|\{\{<.*?(?:>\}\}|$)")
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CSS_ADDRESS = re.compile(
    r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^'")]*))\s*\)|@import\s+(?:"([^"]*)"|'([^']*)')"""
)


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong with a site: `page` is the file in the site, `what` says it in a few words."""

    page: str
    what: str

    def __str__(self) -> str:
        return f"{self.page}: {self.what}"


def check(site: Path) -> list[Problem]:
    """Return everything wrong with the site in the folder `site`, sorted by page.

    Looked for: unresolved variables, references and shortcodes; dead links, fragments, images and
    downloads; absolute paths, which break under a sub-path; equal ids; requests to another host;
    images without alternative text; pages without title or language.

    Raises UserError for a folder without pages.
    """
    pages = {path.relative_to(site).as_posix(): read_page(path) for path in site.rglob("*.html")}
    if not pages:
        raise UserError(f"no site: {site}: holds no HTML page")
    problems = set()
    ids = {name: _ids(page) for name, page in pages.items()}
    for name, page in pages.items():
        problems |= {Problem(name, what) for what in _page_problems(page, ids[name])}
        for element, address, requested in _addresses(page):
            what = _address_problem(site, name, address, requested, ids)
            if what:
                problems.add(Problem(name, f"{what}: <{element}> {address}"))
    for path in site.rglob("*.css"):
        name = path.relative_to(site).as_posix()
        for address in _css_addresses(path.read_text(encoding="utf-8")):
            what = _address_problem(site, name, address, True, ids)
            if what:
                problems.add(Problem(name, f"{what}: {address}"))
    return sorted(problems)


def _ids(page: Node) -> Counter[str]:
    # Quarto gives the two stylesheets of a scheme pair one id; only what is in the body can be a target.
    return Counter(
        node.attributes["id"]
        for body in page.find("body")
        for node in body
        if node.attributes.get("id")
    )


def _page_problems(page: Node, ids: Counter[str]) -> Iterator[str]:
    if not any(html.attributes.get("lang") for html in page.find("html")):
        yield "no language on <html>"
    if not any(title.text() for head in page.find("head") for title in head.find("title")):
        yield "no <title>"
    for name, count in ids.items():
        if count > 1:
            yield f"id used {count} times: {name}"
    for found in _UNRESOLVED.findall(page.text()):
        yield f"unresolved: {found}"
    for node in page:
        for value in node.attributes.values():
            for found in _UNRESOLVED.findall(value):
                yield f"unresolved: {found}"
        if node.tag == "img" and not node.attributes.get("alt") and not _hidden(node):
            yield f"image without alternative text: {node.attributes.get('src', '')}"


def _hidden(node: Node) -> bool:
    attributes = node.attributes
    return attributes.get("aria-hidden") == "true" or attributes.get("role") == "presentation"


def _addresses(page: Node) -> Iterator[tuple[str, str, bool]]:
    """Every (element, address, whether the browser requests it by itself) of a page."""
    for node in page:
        for attribute in _FOLLOWED.get(node.tag, ()):
            if attribute in node.attributes:
                yield node.tag, node.attributes[attribute], False
        requested = not _INERT_LINKS.intersection(node.attributes.get("rel", "").split())
        for attribute in _REQUESTED.get(node.tag, ()):
            value = node.attributes.get(attribute, "")
            parts = value.split(",") if attribute == "srcset" else [value]
            for part in parts:
                if part.strip():
                    yield node.tag, part.split()[0] if attribute == "srcset" else part, requested
        if node.tag == "style":
            text = "".join(child for child in node.children if isinstance(child, str))
            yield from (("style", address, True) for address in _css_addresses(text))
        for address in _css_addresses(node.attributes.get("style", "")):
            yield node.tag, address, True


def _css_addresses(css: str) -> Iterator[str]:
    for groups in _CSS_ADDRESS.findall(_CSS_COMMENT.sub("", css)):
        yield "".join(groups).strip()


def _address_problem(
    site: Path, page: str, address: str, requested: bool, ids: dict[str, Counter[str]]
) -> str | None:
    url = urlsplit(address)
    if url.scheme in _INERT_SCHEMES:
        return None
    if url.scheme or url.netloc:
        return "request to another host" if requested else None
    if url.path.startswith("/"):
        return "absolute path, which breaks under a sub-path"
    target = page
    if url.path:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(url.path)))
        if (site / target).is_dir():
            target = posixpath.normpath(posixpath.join(target, "index.html"))
        if target.startswith("..") or not (site / target).is_file():
            return "dead link"
    fragment = unquote(url.fragment)
    # "#top" needs no target; "#verdict=differs" is the state of a filtered table.
    if target in ids and fragment not in ("", "top") and "=" not in fragment:
        return None if fragment in ids[target] else "dead fragment"
    return None
