"""The pins agree: pyproject.toml, the locks, and the environment file for conda."""

import itertools
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {"report": [], "test": ["test", "publish"], "cluster": ["cluster"], "publish": ["publish"]}

PIN = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)(\[[a-z,]+\])?==(?P<version>[^\s;]+)( ; (?P<marker>.+))?"
)


def normalised(name: str) -> str:
    """A project name as PyPI compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lines: list[str]) -> dict[str, set[str]]:
    """Version(s) by normalised name; fails on a line that is no plain pin (a path, a URL, a range)."""
    found: dict[str, set[str]] = {}
    for line in lines:
        match = PIN.fullmatch(line)
        assert match, f"not a plain pin: {line!r}"
        found.setdefault(normalised(match["name"]), set()).add(match["version"])
    return found


def direct(extras: list[str]) -> dict[str, set[str]]:
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][e] for e in extras)]
    return pins([line for lines in lists for line in lines])


def locked(name: str) -> dict[str, set[str]]:
    return pins((ROOT / "lock" / f"{name}.txt").read_text().splitlines())


@pytest.mark.parametrize("name", EXTRAS)
def test_lock_has_every_direct_dependency_at_its_pin(name):
    lock = locked(name)
    wanted = direct(EXTRAS[name])
    assert len(wanted) >= len(PROJECT["dependencies"])
    assert {package: lock.get(package) for package in wanted} == wanted


def test_locks_agree_where_they_overlap():
    locks = [locked(name) for name in EXTRAS]
    for lock in locks:
        assert locked("report").items() <= lock.items()
    for one, other in itertools.combinations(locks, 2):
        assert all(one[name] == other[name] for name in one.keys() & other.keys())


def test_build_backend_is_in_the_lock():
    # The project is installed without build isolation: with the setuptools that the lock installs.
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = pins(tomllib.load(file)["build-system"]["requires"])
    assert wanted.items() <= locked("report").items()


def test_every_lock_is_made_by_make_lock():
    script = (ROOT / "setup" / "lock.py").read_text()
    assert {path.stem for path in (ROOT / "lock").iterdir()} == set(EXTRAS)
    assert all(f'"{name}"' in script for name in EXTRAS)


def test_conda_environment_has_the_same_direct_pins():
    data = yaml.safe_load((ROOT / "workflow/envs/attention-scaling.yaml").read_text())
    *_, by_pip = data["dependencies"]
    assert pins(by_pip["pip"]) == direct([])


def test_the_container_has_the_same_python_and_is_set_up_in_the_same_way():
    recipe = (ROOT / "Containerfile").read_text()
    conda = yaml.safe_load((ROOT / "workflow/envs/attention-scaling.yaml").read_text())
    (version,) = re.findall(r"^FROM docker.io/library/python:([\d.]+)-", recipe, re.MULTILINE)
    assert f"python={version}" in conda["dependencies"]
    assert re.findall("^RUN make (.*)$", recipe, re.MULTILINE) == ["environment"]
    assert "pip" not in recipe, "packages come by the lock alone"


def test_the_published_site_is_rendered_by_the_quarto_that_set_up_takes():
    workflow = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    (quarto,) = [step for step in steps if "quarto-actions" in step.get("uses", "")]
    assert f'"quarto-cli=={quarto["with"]["version"]}"' in (ROOT / "setup/quarto.py").read_text()
