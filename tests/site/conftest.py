import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, launch, serve
from playwright.sync_api import Browser

from attention_scaling.site import quarto
from attention_scaling.site.render import render

HERE = Path(__file__).parent
REPORTS = HERE.parents[1] / "reports"


def copy_project(target: Path) -> Path:
    """The fixture project with the real style and scripts, as a copy that tests may change."""
    shutil.copytree(HERE / "fixture", target)
    shutil.copytree(REPORTS / "assets", target / "assets")
    return target


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy_project(tmp_path / "project")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture project as Pandoc renders it. Tests only read it."""
    folder = tmp_path_factory.mktemp("pandoc")
    render(copy_project(folder / "project"), folder / "site", "pandoc")
    return folder / "site"


@pytest.fixture(scope="session")
def quarto_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture project as Quarto renders it. Tests only read it."""
    if quarto.find() is None:
        pytest.skip("Quarto is absent")
    folder = tmp_path_factory.mktemp("quarto")
    render(copy_project(folder / "project"), folder / "site", "quarto")
    return folder / "site"


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the fixture site is served: under a sub-path, as on a project's pages."""
    with serve(site.parent) as root:
        yield f"{root}{site.name}/"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("no Chromium on PATH")
    with launch() as chromium:
        yield chromium
