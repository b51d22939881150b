"""What stands around a page's text: the variables of `page.html`.

Values are HTML, since Pandoc puts template variables in as they are.
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from attention_scaling.errors import UserError
from attention_scaling.site.project import Page, Project

Item = Mapping[str, Any]


def page_variables(project: Project, page: Page) -> dict[str, Any]:
    """Return the template variables of `page`.

    Raises UserError for a navbar or sidebar that names a page that the project does not have.
    """
    website, html = project.website, project.html
    pages = {each.path: each for each in project.pages}

    def entry(item: str | Item) -> dict[str, Any]:
        item = {"href": item} if isinstance(item, str) else item
        if "contents" in item:
            return {
                "text": escape(str(item.get("section", item.get("text", "")))),
                "items": [entry(child) for child in item["contents"]],
            }
        if "href" not in item:
            raise UserError(f"navigation entry without href or contents: _quarto.yml: {dict(item)}")
        target = str(item["href"])
        if target.endswith(".qmd") and target not in pages:
            raise UserError(f"navigation names no page: _quarto.yml: {target}: no such file")
        listed = pages.get(target)
        return {
            "text": escape(str(item.get("text") or (listed.title if listed else target))),
            "href": escape(target),
            "active": listed == page,
        }

    def entries(section: str, key: str) -> list[dict[str, Any]]:
        return [entry(item) for item in website.get(section, {}).get(key, [])]

    site_title = str(website["title"])
    sidebar = entries("sidebar", "contents")
    return {
        "lang": escape(str(project.config.get("lang", "en"))),
        "window-title": escape(
            site_title if page.title == site_title else f"{page.title} – {site_title}"
        ),
        "site-title": escape(site_title),
        "summary": escape(str(page.meta.get("description") or website.get("description") or "")),
        "favicon": escape(str(website.get("favicon", ""))),
        "css": [escape(path) for path in _list(html.get("css"))],
        "full": page.meta.get("page-layout") == "full",
        "navbar": entries("navbar", "left") + entries("navbar", "right"),
        "sidebar": sidebar,
        "toc-title": escape(str(html.get("toc-title", "On this page"))),
        "after-body": [_included(project, each) for each in _list(html.get("include-after-body"))],
        **(_neighbours(sidebar) if website.get("page-navigation") else {}),
    }


def footer(project: Project) -> str:
    """The text under every page, as Markdown."""
    value = project.website.get("page-footer") or ""
    if isinstance(value, Mapping):
        return str(value.get("center") or value.get("left") or value.get("right") or "")
    return value


def _neighbours(sidebar: list[dict[str, Any]]) -> dict[str, Any]:
    links = list(_links(sidebar))
    at = next((i for i, link in enumerate(links) if link["active"]), None)
    if at is None:
        return {}
    around = {"page-navigation": True}
    if at > 0:
        around["previous"] = links[at - 1]
    if at + 1 < len(links):
        around["next"] = links[at + 1]
    return around


def _links(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for item in items:
        if "items" in item:
            yield from _links(item["items"])
        else:
            yield item


def _included(project: Project, item: str | Item) -> str:
    if isinstance(item, Mapping):
        return str(item["text"])
    try:
        return (project.root / item).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"file cannot be read: _quarto.yml: {item}: {error.strerror}") from error


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
