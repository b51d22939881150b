"""The imports that reading the code finds, against those that running it makes."""

import subprocess
import sys

import pytest

from attention_scaling import imports
from attention_scaling.experiments import REGISTRY
from attention_scaling.imports import DISPATCHERS, code_digest, files_of, modules_of


def imported_by_running(module: str) -> set[str]:
    code = f"import sys, {module}; print(*(m for m in sys.modules if m.split('.')[0] == 'attention_scaling'))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "module",
    ["attention_scaling.collect", "attention_scaling.experiments.job"]
    + [experiment.module_name for experiment in REGISTRY.values()],
)
def test_finds_at_least_what_importing_loads(module):
    assert imported_by_running(module) - DISPATCHERS <= modules_of(module)


def test_an_experiment_does_not_use_the_others_nor_the_command_line():
    names = {experiment.module_name for experiment in REGISTRY.values()}
    for name in names:
        assert modules_of(name) & (names | DISPATCHERS) == {name}


def test_the_files_are_those_of_the_modules():
    files = files_of("attention_scaling.collect")
    assert files == sorted(files)
    assert len(files) == len(modules_of("attention_scaling.collect"))
    assert all(file.is_file() for file in files)


def test_what_a_package_reads_from_its_folder_belongs_to_it():
    names = {file.name for file in files_of("attention_scaling.site.render")}
    assert {"renderer.py", "page.html", "shell.css", "subset.lua"} <= names


def test_unknown_module_is_refused():
    with pytest.raises(ModuleNotFoundError, match="attention_scaling.nothing"):
        files_of("attention_scaling.nothing")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of the same name in which the test writes modules."""
    monkeypatch.setattr(imports, "FOLDER", tmp_path)
    imports._imported_by.cache_clear()
    (tmp_path / "__init__.py").write_text("")
    yield tmp_path
    imports._imported_by.cache_clear()


@pytest.mark.parametrize(
    "code",
    [
        "import attention_scaling.b",
        "from attention_scaling import b",
        "from attention_scaling.b import anything",
        "from . import b",
        "from .b import anything",
        "def later():\n    from attention_scaling import b",
        "try:\n    import attention_scaling.b\nexcept ImportError:\n    pass",
        "if TYPE_CHECKING:\n    import os\nelse:\n    from . import b",
    ],
)
def test_every_form_of_import_is_found(package, code):
    (package / "a.py").write_text(code)
    (package / "b.py").write_text("")
    assert "attention_scaling.b" in modules_of("attention_scaling.a")


def test_what_only_a_type_checker_imports_is_not_used(package):
    (package / "a.py").write_text(
        "import typing\nif typing.TYPE_CHECKING:\n    from attention_scaling import b"
    )
    (package / "b.py").write_text("")
    assert "attention_scaling.b" not in modules_of("attention_scaling.a")


def test_a_cycle_ends_and_relative_imports_climb(package):
    (package / "deep").mkdir()
    (package / "deep" / "__init__.py").write_text("")
    (package / "deep" / "a.py").write_text("from .. import b\nfrom .c import x")
    (package / "deep" / "c.py").write_text("from . import a")
    (package / "b.py").write_text("import attention_scaling.deep.a")
    assert modules_of("attention_scaling.b") == {
        "attention_scaling",
        "attention_scaling.b",
        "attention_scaling.deep",
        "attention_scaling.deep.a",
        "attention_scaling.deep.c",
    }


def test_digest_follows_the_code_that_is_used_and_no_other(package):
    for name, code in {"a": "from . import b", "b": "", "c": ""}.items():
        (package / f"{name}.py").write_text(code)
    before = code_digest("attention_scaling.a")
    (package / "c.py").write_text("x = 1")
    assert code_digest("attention_scaling.a") == before
    (package / "b.py").write_text("x = 1")
    assert code_digest("attention_scaling.a") != before
