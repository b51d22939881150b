import logging
import stat
from pathlib import Path

import pytest

from attention_scaling.errors import UserError
from attention_scaling.site import quarto
from attention_scaling.site.compare import compare
from attention_scaling.site.render import render

REPORTS = Path(__file__).parents[2] / "reports"


def install(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a stand-in for Quarto first on PATH."""
    command = folder / "bin" / "quarto"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n" + script, encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(command.parent), prepend=":")
    return command


def test_quarto_on_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = install(tmp_path, "echo 1.9.38\n", monkeypatch)
    assert quarto.find() == command
    assert quarto.version(command) == "1.9.38"


def test_quarto_beside_python_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = install(tmp_path, "echo 1.9.38\n", monkeypatch)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", str(command.with_name("python")))
    assert quarto.find() == command


def test_absent_quarto_is_an_error_only_when_asked_for(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quarto, "find", lambda: None)
    with pytest.raises(UserError, match="Quarto is absent"):
        render(project, tmp_path / "site", "quarto")
    assert render(project, tmp_path / "site", "auto").engine == "pandoc"


def test_quarto_renders_a_copy_of_the_project(
    project: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        tmp_path,
        f'[ "$1" = --version ] && echo 1.9.38 && exit\ncp -r "{site}" "$2/$4"; touch "$2/stray"\n',
        monkeypatch,
    )
    before = sorted(path.name for path in project.iterdir())
    result = render(project, tmp_path / "site")
    assert (result.engine, result.version) == ("quarto", "1.9.38")
    assert (tmp_path / "site/index.html").is_file()
    assert sorted(path.name for path in project.iterdir()) == before


def test_a_failure_of_quarto_is_one_line_with_its_log(
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    install(tmp_path, "echo starting\necho 'ERROR: no such theme' >&2\nexit 1\n", monkeypatch)
    with caplog.at_level(logging.ERROR), pytest.raises(UserError) as error:
        render(project, tmp_path / "site")
    assert "no such theme" in str(error.value)
    assert "\n" not in str(error.value)
    assert "starting" in caplog.text
    assert not (tmp_path / "site").exists()


def test_a_page_that_quarto_leaves_out_is_missed(
    project: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        tmp_path,
        f'[ "$1" = --version ] && exit\ncp -r "{site}" "$2/$4"; rm "$2/$4/tables.html"\n',
        monkeypatch,
    )
    with pytest.raises(UserError, match="page was not rendered: tables.qmd"):
        render(project, tmp_path / "site")


def test_both_engines_agree_on_the_fixture(site: Path, quarto_site: Path) -> None:
    assert compare(quarto_site, site) == []


def test_both_engines_agree_on_the_reports(tmp_path: Path) -> None:
    if quarto.find() is None:
        pytest.skip("Quarto is absent")
    if not (REPORTS / "_variables.yml").exists():
        pytest.skip("the study has not been run: reports/_variables.yml is absent")
    for engine in ("quarto", "pandoc"):
        render(REPORTS, tmp_path / engine, engine)
    assert compare(tmp_path / "quarto", tmp_path / "pandoc") == []
