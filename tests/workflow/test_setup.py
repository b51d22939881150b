"""Setting up, cleaning up and showing the site: what make does around the workflow."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUP = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}


def call(*command, folder: Path, path: str = SETUP["PATH"], **variables: str):
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={"PATH": path, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )


def write_script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def python_stub(version: str, usable: bool, venv: bool) -> str:
    """A shell script that answers what set-up asks a Python."""
    return f"""case "$2" in
*python_version*) echo {version} ;;
*version_info*) exit {int(not usable)} ;;
*ensurepip*) exit {int(not venv)} ;;
*) echo "called with $*" ;;
esac"""


@pytest.fixture
def tools(tmp_path) -> Path:
    """A folder of commands to be all of PATH, with what the script itself needs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "dirname"):
        (folder / name).symlink_to(shutil.which(name))
    return folder


def test_a_python_that_is_too_old_is_one_line(fresh, tools):
    write_script(tools / "python3", python_stub("3.8.20", usable=False, venv=True))
    run = call("sh", "setup/environment.sh", "report", folder=fresh.folder, path=str(tools))
    assert run.returncode == 1
    (line,) = run.stdout.splitlines()
    assert "Python 3.11 or newer" in line
    assert "python3 is 3.8.20" in line
    assert not fresh.path(".venv").exists()


def test_a_python_without_venv_is_one_line(fresh, tools):
    write_script(tools / "python3", python_stub("3.12.4", usable=True, venv=False))
    run = call("sh", "setup/environment.sh", "report", folder=fresh.folder, path=str(tools))
    assert run.returncode == 1
    (line,) = run.stdout.splitlines()
    assert "python3 (3.12.4) has no venv module" in line


def test_no_python_at_all_is_one_line(fresh, tools):
    run = call("sh", "setup/environment.sh", "report", folder=fresh.folder, path=str(tools))
    assert run.returncode == 1
    assert len(run.stdout.splitlines()) == 1


def test_a_newer_python_is_found_beside_an_old_one(fresh, tools):
    write_script(tools / "python3", python_stub("3.9.1", usable=False, venv=True))
    write_script(tools / "python3.12", python_stub("3.12.4", usable=True, venv=True))
    run = call("sh", "setup/environment.sh", "report", folder=fresh.folder, path=str(tools))
    assert run.stdout.strip() == "called with setup/environment.py report"


def environment(folder: Path, code: str):
    """Run code in which set-up's script is the module `environment`."""
    return call(sys.executable, "-c", f"import environment; {code}", folder=folder / "setup")


def is_ready(folder: Path) -> bool:
    command = [sys.executable, "-I", "-S", "setup/environment.py", "--check", "report"]
    return call(*command, folder=folder).returncode == 0


@pytest.fixture
def installed(fresh) -> Path:
    """A project in which set-up remembers to have installed the report's packages."""
    fresh.path(".venv").mkdir()
    code = "environment.remember(report=environment.fingerprint('report'))"
    assert environment(fresh.folder, code).returncode == 0
    return fresh.folder


def test_what_is_installed_is_not_installed_again(installed):
    assert is_ready(installed)


@pytest.mark.parametrize("changed", ["lock/report.txt", "pyproject.toml"])
def test_a_changed_lock_is_installed_again(installed, changed):
    path = installed / changed
    path.write_text(path.read_text() + "\n# changed\n")
    assert not is_ready(installed)


def test_a_moved_project_is_installed_again(installed, tmp_path):
    moved = installed.rename(tmp_path / "moved")
    assert not is_ready(moved)


def test_a_half_written_state_counts_as_none(installed):
    (installed / ".venv" / "state.json").write_text('{"report": "')
    assert not is_ready(installed)


def test_pips_configuration_is_passed_on_to_uv(installed, tmp_path):
    listed = ":env:.find-links='/wheels /more'\\nglobal.find-links='/old'\\nglobal.cert='/ca.pem'"
    write_script(installed / ".venv" / "bin" / "python", f'printf "{listed}\\n"')
    run = environment(installed, "import json; print(json.dumps(environment.uv_variables()))")
    assert json.loads(run.stdout) == {
        "UV_SYSTEM_CERTS": "true",
        "UV_FIND_LINKS": "/wheels,/more",
        "SSL_CERT_FILE": "/ca.pem",
    }


def installation(folder: Path, fails: str, variables: str = "{}") -> tuple[str, list[list[str]]]:
    """Who installs when every command with the word `fails` in it fails, and the commands that ran."""
    code = (
        "import json; calls = [];"
        f"environment.uv_variables = lambda: {variables};"
        "run = lambda *command, **_: calls.append([str(c) for c in command]) or "
        f"not any({fails!r} in word for word in calls[-1]);"
        "environment.run = run;"
        "lock = environment.ROOT / 'lock' / 'report.txt';"
        "print(json.dumps([environment.install_packages(lock), calls]))"
    )
    return tuple(json.loads(environment(folder, code).stdout.splitlines()[-1]))


def test_torch_comes_from_its_own_index_where_that_can_be_reached(installed):
    installer, calls = installation(installed, fails="nothing does")
    assert installer == "uv"
    assert calls[1][-4:-2] == ["--torch-backend", "auto"]
    assert len(calls) == 3  # uv itself, the lock, the project


def test_torch_comes_from_the_package_index_elsewhere(installed):
    installer, calls = installation(installed, fails="--torch-backend")
    assert installer == "uv"
    assert "--torch-backend" in calls[1]
    assert "--torch-backend" not in calls[2]


def test_torch_from_a_folder_of_wheels_is_taken_from_there(installed):
    _, calls = installation(
        installed, fails="nothing does", variables="{'UV_FIND_LINKS': '/wheels'}"
    )
    assert not [call for call in calls if "--torch-backend" in call]


@pytest.mark.parametrize("fails", ["uv==", "bin/uv"])
def test_pip_installs_where_uv_cannot(installed, fails):
    installer, calls = installation(installed, fails)
    assert installer == "pip"
    assert [call[2] for call in calls[-2:]] == ["pip", "pip"]
    assert "--requirement" in calls[-2]
    assert "--editable" in calls[-1]


def quarto(folder: Path, venv: Path, path: str) -> list:
    """What becomes of the attempt to install Quarto when pip fails: its outcome and pip's calls."""
    code = (
        "import json, quarto; from pathlib import Path; calls = [];"
        "run = lambda *command, **limits: calls.append([str(c) for c in command]) or False;"
        f"outcome = quarto.install(run, Path({str(venv)!r}));"
        "print(json.dumps([outcome, calls]))"
    )
    return json.loads(call(sys.executable, "-c", code, folder=folder / "setup", path=path).stdout)


def test_a_quarto_that_cannot_be_installed_leaves_nothing_behind(fresh, tools, tmp_path):
    outcome, calls = quarto(fresh.folder, tmp_path / "venv", str(tools))
    assert outcome == "not to be had"
    assert ["install" in command for command in calls] == [True, False]
    assert calls[-1][-3:] == ["uninstall", "--yes", "quarto-cli"]


def test_a_quarto_that_does_not_run_counts_as_none(fresh, tools, tmp_path):
    write_script(tmp_path / "venv" / "bin" / "quarto", "exit 1")
    assert quarto(fresh.folder, tmp_path / "venv", str(tools))[0] == "not to be had"


def test_a_quarto_that_runs_is_left_alone(fresh, tools, tmp_path):
    write_script(tools / "quarto", "echo 1.9.38")
    assert quarto(fresh.folder, tmp_path / "venv", str(tools)) == ["present", []]


def test_help_names_every_target():
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))
    shown = call("make", "help", folder=ROOT).stdout
    assert {line.split()[0] for line in shown.splitlines()[1:]} == targets


def test_clean_leaves_the_tree_as_cloned(fresh):
    assert call("git", "init", "--quiet", folder=fresh.folder).returncode == 0
    assert call("git", "add", "--all", folder=fresh.folder).returncode == 0
    status = ["git", "status", "--porcelain", "--ignored"]
    cloned = call(*status, folder=fresh.folder).stdout
    ignored = fresh.path(".gitignore").read_text().split()
    for pattern in ignored:
        made = fresh.path(pattern.strip("/").replace("*", "x"))
        made.mkdir(parents=True)
        (made / "file").write_text("made")
    for anywhere in ("__pycache__", "x.egg-info"):
        (fresh.path("workflow") / anywhere).mkdir()
        (fresh.path("workflow") / anywhere / "file").write_text("made")
    full = call(*status, folder=fresh.folder).stdout
    assert full.count("!! ") == len(ignored) + 2
    assert call("make", "clean", folder=fresh.folder).returncode == 0
    assert call(*status, folder=fresh.folder).stdout == cloned


def test_make_works_without_a_home(fresh):
    for home in ({}, {"HOME": ""}, {"HOME": "/nowhere"}):
        run = call("make", "--eval", "home: ; @echo $$HOME", "home", folder=fresh.folder, **home)
        assert run.stdout.strip() == str(fresh.path(".venv/home"))


@pytest.mark.parametrize("cores", ["0", "-1", "many"])
def test_a_number_of_cores_that_is_none_is_one_line(fresh, cores):
    options = ["--config", fresh.tiny, "--cores", cores]
    run = call(sys.executable, "setup/workflow.py", *options, folder=fresh.folder)
    assert run.returncode == 2
    (line,) = run.stdout.splitlines()
    assert line == f"error: CORES: must be a number from 1 on, or all (given: {cores})"


def test_a_path_in_which_snakemake_cannot_work_is_one_line(fresh):
    folder = fresh.folder.rename(fresh.folder.with_name("{braces}"))
    script = folder / "setup" / "workflow.py"
    run = call(sys.executable, script, "--config", fresh.tiny, "--cores", "1", folder=folder)
    assert run.returncode == 2
    (line,) = run.stdout.splitlines()
    assert line.startswith(f"error: {folder}: ")
    assert line.endswith("allow no { or } in the project's path")


@pytest.mark.parametrize("port", ["http", "65536"])
def test_a_port_that_is_none_is_one_line(fresh, port):
    run = call(sys.executable, "setup/serve.py", port, folder=fresh.folder)
    assert run.returncode == 1
    assert run.stdout.splitlines() == [f"PORT: must be a number up to 65535 (given: {port})"]


def test_serving_without_a_site_is_one_line(fresh):
    run = call(sys.executable, "setup/serve.py", "0", folder=fresh.folder)
    assert run.returncode == 1
    assert run.stdout.splitlines() == ["there is no site yet; `make report` makes it"]
