"""Put the pinned environment into .venv: `environment.py report|test|cluster|publish`, or with --check only look.

Runs on the system's Python before anything is installed, so it uses the standard library alone.
What it did is kept in .venv/state.json: a second call installs nothing; a changed lock or a moved
folder installs again. A failure is one line on standard error, its details are in .venv/setup.log.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STATE = VENV / "state.json"
LOG = VENV / "setup.log"

UV = "uv==0.13.9"  # installs the same lock in a third of pip's time

PLUGINS = VENV / "cluster"
"""Where the tests have Snakemake's executors for clusters: beside the packages, because among them they would
double the time that every Snakemake takes to start. On PYTHONPATH they are there, and not elsewhere."""

SIGN_OF_LIFE_SECONDS = 20

# What pip's configuration says under these names, uv reads from its own variables.
UV_VARIABLES = {
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "cert": "SSL_CERT_FILE",
}


def lock(name: str) -> Path:
    """The file with the pins of an environment."""
    return ROOT / "lock" / f"{name}.txt"


def fingerprint(name: str) -> str:
    """What an installed environment depends on: its lock, the project's metadata, where it lies."""
    digest = hashlib.sha256(str(ROOT).encode())
    locks = ("test", "cluster") if name == "test" else (name,)
    for path in (*map(lock, locks), ROOT / "pyproject.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def read_state() -> dict[str, str]:
    """What set-up did before, by what it did it for; empty where nothing is known."""
    try:
        return json.loads(STATE.read_text())
    except (OSError, ValueError):
        return {}


def remember(**changes: str) -> None:
    """Add to what `read_state` gives."""
    temporary = STATE.with_suffix(".tmp")
    temporary.write_text(json.dumps({**read_state(), **changes}, indent=1) + "\n")
    temporary.replace(STATE)


def say(message: str) -> None:
    """Tell the person who waits."""
    print(f"set-up: {message}", file=sys.stderr, flush=True)


def run(*command: str | Path, timeout: float = 3600, **variables: str) -> bool:
    """Whether the command succeeded within `timeout` seconds. What it prints goes to the log.

    It runs in an empty folder of its own, which also takes what it leaves behind. In the project's
    folder uv would obey the [tool.uv] settings that make the lock, and leave out the CUDA libraries
    that PyPI's Linux build of torch cannot be imported without.
    """
    import signal
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory(prefix="attention-scaling-") as folder, LOG.open("a") as log:
        print("$", *command, file=log, flush=True)
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **variables, "TMPDIR": folder},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its children can be stopped with it
        )
        try:
            for seconds in range(SIGN_OF_LIFE_SECONDS, int(timeout) + 1, SIGN_OF_LIFE_SECONDS):
                try:
                    return process.wait(SIGN_OF_LIFE_SECONDS) == 0
                except subprocess.TimeoutExpired:
                    say(f"still at it after {seconds} s ({LOG.relative_to(ROOT)} tells more)")
            print("stopped: out of time", file=log)
            return False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def make_venv() -> None:
    """Make .venv, from nothing where the one that is there cannot be used."""
    VENV.mkdir(exist_ok=True)
    moved = read_state().get("root", str(ROOT)) != str(ROOT)
    usable = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    if moved or not (PYTHON.exists() and run(PYTHON, "-c", usable)):
        import shutil

        if VENV.is_symlink():
            raise SystemExit("set-up: .venv is a link to what cannot be used here; remove it")
        say(f"making .venv with Python {sys.version.split()[0]}")
        shutil.rmtree(VENV)
        VENV.mkdir()
        if not run(sys.executable, "-m", "venv", VENV):
            raise SystemExit(f"set-up: .venv could not be made with {sys.executable}: see {LOG}")
    remember(root=str(ROOT))


def uv_variables() -> dict[str, str]:
    """What uv must be told in variables: pip's configuration, which it does not read by itself."""
    import subprocess

    command = [PYTHON, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    variables = {"UV_SYSTEM_CERTS": "true"}
    for line in sorted(
        listed, key=lambda line: line.startswith(":env:")
    ):  # the environment decides
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        if option in UV_VARIABLES:
            variables[UV_VARIABLES[option]] = ",".join(value.strip("'").replace("\\n", " ").split())
    return {name: os.environ.get(name) or value for name, value in variables.items()}


def install_packages(pins: Path) -> str:
    """Install what the lock names, then the project itself, editable. Returns the installer's name."""
    pip = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]
    project = ["--no-deps", "--no-build-isolation", "--editable", ROOT]  # setuptools is in the lock
    if run(*pip, UV):
        uv = [VENV / "bin" / "uv", "pip", "install", "--python", PYTHON, "--compile-bytecode"]
        variables = uv_variables()
        attempts = [[]]
        if not {"UV_FIND_LINKS", "UV_TORCH_BACKEND"} & {*variables, *os.environ}:
            # PyTorch's own index, where it can be reached, has the build that fits this machine:
            # a machine without a GPU is spared 3 GB of CUDA libraries.
            attempts.insert(0, ["--torch-backend", "auto"])
        for options in attempts:
            locked = run(*uv, *options, "--requirement", pins, **variables)
            if locked and run(*uv, *project, **variables):
                return "uv"
    say("uv cannot install here; pip does, and takes longer")
    if run(*pip, "--requirement", pins) and run(*pip, *project):
        return "pip"
    raise SystemExit(f"set-up: neither uv nor pip could install the packages: see {LOG}")


def install_plugins() -> None:
    """Install what the environment for clusters has beyond that for the report, where the tests take it from."""
    report = lock("report").read_text().splitlines()
    beyond = [pin for pin in lock("cluster").read_text().splitlines() if pin not in report]
    pip = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "--upgrade"]
    if not run(*pip, "--target", PLUGINS, *beyond):
        raise SystemExit(f"set-up: the executors for clusters could not be installed: see {LOG}")


def main(name: str) -> None:
    """Set .venv up with lock/`name`.txt, and with Quarto where it can be had."""
    import time

    import quarto

    started = time.monotonic()
    make_venv()
    say(f"installing the packages of lock/{name}.txt into .venv")
    installer = install_packages(lock(name))
    if name == "test":
        install_plugins()
    (VENV / "home").mkdir(exist_ok=True)  # for whom HOME is not set, see the Makefile
    if "quarto" not in read_state():
        remember(quarto=quarto.install(run, VENV))
    remember(**{name: fingerprint(name)})
    say(f"done by {installer} in {time.monotonic() - started:.0f} s; {quarto.renderer(VENV)}")


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        sys.exit(read_state().get(sys.argv[2]) != fingerprint(sys.argv[2]))
    main(sys.argv[1])
