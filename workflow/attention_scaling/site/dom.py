"""A rendered page as a tree, as far as checking and comparing pages need one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from attention_scaling.garbage import uncollected

# Elements without content or end tag.
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source"]
    + ["track", "wbr"]
)
_UNSEEN = frozenset({"script", "style", "annotation"})


@dataclass(eq=False)
class Node:
    """An element: its tag, attributes, parent, and children (elements and text, in order)."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    parent: "Node | None" = None
    children: list["Node | str"] = field(default_factory=list)

    def __iter__(self) -> Iterator["Node"]:
        """All elements under this one, in the order of the document."""
        waiting = self.children[::-1]
        while waiting:
            child = waiting.pop()
            if isinstance(child, Node):
                yield child
                waiting += child.children[::-1]

    def find(self, *tags: str) -> Iterator["Node"]:
        """Elements under this one with one of `tags`."""
        return (node for node in self if node.tag in tags)

    def ancestors(self) -> Iterator["Node"]:
        """The elements around this one, from the inside out."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def has_class(self, name: str) -> bool:
        """Whether `name` is one of the element's classes."""
        return name in self.attributes.get("class", "").split()

    def text(self, without: frozenset[str] = frozenset()) -> str:
        """The text that a reader sees, with runs of white space as single spaces.

        Elements with a class in `without` are left out.
        """
        return " ".join("".join(self._pieces(without)).split())

    def _pieces(self, without: frozenset[str]) -> Iterator[str]:
        if self.tag in _UNSEEN or not without.isdisjoint(self.attributes.get("class", "").split()):
            return
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child._pieces(without)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self._open = Node("#document")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs}, self._open)
        self._open.children.append(node)
        if tag not in _VOID:
            self._open = node

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        node = self._open
        while node.parent is not None:
            if node.tag == tag:
                self._open = node.parent
                return
            node = node.parent

    def handle_data(self, data: str) -> None:
        self._open.children.append(data)

    def updatepos(self, i: int, j: int) -> int:
        """Leave lines uncounted: no one asks on which an element stands."""
        return j


def read_page(path: Path) -> Node:
    """Parse the HTML file at `path`; the result's children are its top elements."""
    builder = _Builder()
    with uncollected():
        builder.feed(path.read_text(encoding="utf-8"))
        builder.close()
    return builder.root
