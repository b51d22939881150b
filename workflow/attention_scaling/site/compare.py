"""What two renderings of one project share, and where they differ.

The frame of a page (menus, search, footer) is each engine's own; the text in `<main>` is compared.
"""

from dataclasses import dataclass, fields
from pathlib import Path

from attention_scaling.site.dom import Node, read_page

# A heading over the footnotes, and the kind of a callout for those who do not see its colour.
_OF_THE_ENGINE = frozenset({"quarto-appendix-heading", "screen-reader-only"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(frozen=True)
class Summary:
    """The content of one page that must not depend on the engine."""

    title: str
    headings: tuple[tuple[str, str, str], ...]  # tag, anchor, text
    figures: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]  # id, caption, (src, alt)s
    tables: tuple[tuple[tuple[str, ...], ...], ...]  # rows of cell texts
    references: tuple[tuple[str, str], ...]  # text, target
    words: tuple[str, ...]  # the whole text


def summarise(page: Path) -> Summary:
    """Read the content of the rendered page at `page`."""
    document = read_page(page)
    main = next(document.find("main"))
    return Summary(
        title=next(document.find("title")).text(),
        headings=tuple(
            (node.tag, _anchor(node), node.text())
            for node in main.find(*_HEADINGS)
            if node.text(_OF_THE_ENGINE)
        ),
        figures=tuple(
            (_own_id(node) or _own_id(node.parent), _caption(node), _images(node))
            for node in main.find("figure")
        ),
        tables=tuple(
            tuple(tuple(cell.text() for cell in row.find("th", "td")) for row in table.find("tr"))
            for table in main.find("table")
        ),
        references=tuple(
            (node.text(), node.attributes["href"])
            for node in main.find("a")
            if node.has_class("quarto-xref")
        ),
        words=tuple(main.text(_OF_THE_ENGINE).split()),
    )


def compare(left: Path, right: Path) -> list[str]:
    """Return the differences between the sites in the folders `left` and `right`, one line each."""
    names = [
        {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
        for site in (left, right)
    ]
    differences = [f"{name}: only in one of the sites" for name in sorted(names[0] ^ names[1])]
    for name in sorted(names[0] & names[1]):
        ours, theirs = summarise(left / name), summarise(right / name)
        for field in fields(Summary):
            one, other = getattr(ours, field.name), getattr(theirs, field.name)
            if one != other:
                differences.append(f"{name}: {field.name}: {_first_difference(one, other)}")
    return differences


def _first_difference(one: object, other: object) -> str:
    if isinstance(one, tuple) and isinstance(other, tuple):
        for left, right in zip(one, other, strict=False):
            if left != right:
                return f"{left!r} and {right!r}"
        return f"{len(one)} and {len(other)} of them"
    return f"{one!r} and {other!r}"


def _anchor(heading: Node) -> str:
    # Quarto puts the id on the section around the heading.
    around = (_own_id(node) for node in (heading, *heading.ancestors()))
    return next((name for name in around if name), "")


def _own_id(node: Node | None) -> str:
    return node.attributes.get("id", "") if node else ""


def _caption(figure: Node) -> str:
    captions = [child for child in figure.children if isinstance(child, Node)]
    return next((child.text() for child in captions if child.tag == "figcaption"), "")


def _images(figure: Node) -> tuple[tuple[str, str], ...]:
    return tuple(
        (image.attributes.get("src", "").removeprefix("./"), image.attributes.get("alt", ""))
        for image in figure.find("img")
    )
