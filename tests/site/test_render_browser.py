from pathlib import Path

import pytest
from browser import serve, visit
from playwright.sync_api import Browser, Page, expect

PAGES = ("index", "figures", "tables", "blocks", "ledger")


def shown_images(page: Page, figure: str) -> list[str]:
    """The classes of the images of `figure` that a reader sees."""
    return page.eval_on_selector_all(
        f"#{figure} img",
        "images => images.filter(i => i.checkVisibility()).map(i => i.classList[0])",
    )


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_page_is_quiet_and_fits(
    browser: Browser, address: str, page: str, width: int, scheme: str
) -> None:
    with visit(browser, f"{address}{page}.html", width=width, scheme=scheme) as seen:
        assert seen.faults == []
        assert seen.overflow() == 0


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_quarto_is_quiet_and_fits(browser: Browser, quarto_site: Path, page: str) -> None:
    with (
        serve(quarto_site) as root,
        visit(browser, f"{root}{page}.html", width=390, scheme="dark") as seen,
    ):
        assert seen.faults == []
        assert seen.overflow() == 0
        if page == "figures":
            assert shown_images(seen.page, "fig-scores") == ["fig-dark"]
        if page == "ledger":
            seen.page.get_by_label("Verdict").select_option("differs")
            expect(seen.page.locator(".filter-bar output")).to_have_text("4 of 24 rows")
            seen.page.get_by_role("button", name="Show all").click()
            seen.page.get_by_role("link", name="filtered").click()
            expect(seen.page.locator(".filter-bar output")).to_have_text("4 of 24 rows")
            seen.page.reload()
            expect(seen.page.locator(".filter-bar output")).to_have_text("4 of 24 rows")
            assert seen.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_system_chooses_the_scheme(browser: Browser, address: str, scheme: str) -> None:
    with visit(browser, f"{address}figures.html", scheme=scheme) as seen:
        assert shown_images(seen.page, "fig-scores") == [f"fig-{scheme}"]
        button = seen.page.get_by_role("button", name="Dark colours")
        assert button.get_attribute("aria-pressed") == str(scheme == "dark").lower()


def test_the_reader_chooses_the_scheme_for_good(browser: Browser, address: str) -> None:
    with visit(browser, f"{address}figures.html", scheme="light") as seen:
        seen.page.get_by_role("button", name="Dark colours").click()
        assert shown_images(seen.page, "fig-scores") == ["fig-dark"]
        seen.page.goto(f"{address}figures.html?again")
        assert shown_images(seen.page, "fig-scores") == ["fig-dark"]
        seen.page.get_by_role("button", name="Dark colours").click()
        assert shown_images(seen.page, "fig-scores") == ["fig-light"]
        assert seen.faults == []


def test_print_shows_every_tab_and_light_images(browser: Browser, address: str) -> None:
    with visit(browser, f"{address}figures.html", scheme="dark") as seen:
        seen.page.emulate_media(media="print")
        assert shown_images(seen.page, "fig-scores") == ["fig-light"]
        seen.page.goto(f"{address}blocks.html")
        expect(seen.page.get_by_text("The third tab.")).to_be_visible()


def test_tabs_open_by_mouse_keys_and_link(browser: Browser, address: str) -> None:
    with visit(browser, f"{address}blocks.html") as seen:
        page = seen.page
        first, second, third = (page.get_by_role("tab").nth(i) for i in range(3))
        panes = {name: page.get_by_text(f"The {name} tab") for name in ("first", "second", "third")}
        expect(panes["first"]).to_be_visible()
        second.click()
        expect(panes["second"]).to_be_visible()
        expect(panes["first"]).to_be_hidden()
        page.keyboard.press("ArrowRight")
        expect(third).to_be_focused()
        expect(panes["third"]).to_be_visible()
        page.keyboard.press("ArrowRight")
        expect(first).to_have_attribute("aria-selected", "true")
        assert [tab.get_attribute("tabindex") for tab in (first, second, third)] == [
            "0",
            "-1",
            "-1",
        ]
        page.get_by_role("link", name="into the third").click()
        expect(panes["third"]).to_be_visible()
        assert seen.faults == []


def test_the_table_is_filtered_by_choice_text_and_address(browser: Browser, address: str) -> None:
    with visit(browser, f"{address}ledger.html") as seen:
        page = seen.page
        count = page.locator(".filter-bar output")
        rows = page.locator("main tbody tr:visible")
        expect(count).to_have_text("24 rows")
        page.get_by_label("Verdict").select_option("differs")
        expect(count).to_have_text("4 of 24 rows")
        expect(rows).to_have_count(4)
        page.get_by_label("Text").fill("a14")
        expect(rows).to_have_count(1)
        assert page.url.endswith("#q=a14&verdict=differs")
        page.reload()
        expect(rows).to_have_count(1)
        page.get_by_role("button", name="Show all").click()
        expect(rows).to_have_count(24)
        page.get_by_role("link", name="filtered").click()
        expect(rows).to_have_count(4)
        page.goto(f"{address}ledger.html#claim-A5")
        expect(rows).to_have_count(24)
        assert seen.faults == []


def test_search_finds_a_page_under_a_sub_path(browser: Browser, address: str) -> None:
    with visit(browser, f"{address}index.html") as seen:
        page = seen.page
        page.get_by_role("searchbox", name="Search this site").fill("wide table")
        link = page.locator(".site-search-results a").first
        expect(link).to_have_text("Tables")
        link.click()
        assert page.url.startswith(f"{address}tables.html")
        page.get_by_role("searchbox", name="Search this site").fill("unbreakable")
        part = page.locator(".site-search-results a").first
        expect(part).to_have_text("Overview: A third level")
        assert part.get_attribute("href").endswith("/index.html#a-third-level")
        page.get_by_role("searchbox", name="Search this site").fill("zzzz")
        expect(page.locator(".site-search-results")).to_have_text("Nothing found for “zzzz”.")
        assert seen.faults == []


def test_the_menu_opens_on_a_narrow_screen(browser: Browser, address: str) -> None:
    with visit(browser, f"{address}index.html", width=390) as seen:
        menu, pages = (
            seen.page.get_by_role("button", name="Menu"),
            seen.page.locator("#quarto-sidebar"),
        )
        expect(pages).to_be_hidden()
        menu.click()
        expect(pages).to_be_visible()
        expect(menu).to_have_attribute("aria-expanded", "true")
        assert seen.overflow() == 0
        seen.page.keyboard.press("Escape")
        expect(pages).to_be_hidden()
        expect(menu).to_be_focused()


def test_everything_is_there_without_scripts(browser: Browser, address: str) -> None:
    with visit(browser, f"{address}blocks.html", width=390, scripts=False) as seen:
        for name in ("first", "second", "third"):
            expect(seen.page.get_by_text(f"The {name} tab")).to_be_visible()
        expect(seen.page.locator("#quarto-sidebar")).to_be_visible()
        seen.page.goto(f"{address}ledger.html")
        expect(seen.page.locator("main tbody tr:visible")).to_have_count(24)
        assert seen.faults == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_from_a_file(browser: Browser, site: Path, page: str) -> None:
    with visit(browser, (site / f"{page}.html").as_uri()) as seen:
        expect(seen.page.get_by_role("searchbox", name="Search this site")).to_be_disabled()
        expect(seen.page.locator("main h1")).to_have_css("font-weight", "650")
        assert seen.faults == []
