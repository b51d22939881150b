"""Resolve pyproject.toml into lock/*.txt again, for every platform; what need not change stays.

python setup/lock.py            after an edit of pyproject.toml
python setup/lock.py --upgrade  to take newer releases of what it does not pin
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = ROOT / ".venv" / "bin" / "uv"

LOCKS = {
    "report": [],
    "test": ["--extra", "test", "--extra", "publish"],
    "cluster": ["--extra", "cluster"],
    "publish": ["--extra", "publish"],
}

# A local folder of packages would get into the lock, as a path that only one machine has.
environment = {name: value for name, value in os.environ.items() if "FIND_LINKS" not in name}

for name, extras in LOCKS.items():
    command = [
        *(UV, "pip", "compile", "--universal", "--no-annotate", "--no-header", "--quiet"),
        *("--python-version", "3.11", *extras, *sys.argv[1:]),
        *("--output-file", f"lock/{name}.txt", "pyproject.toml"),
    ]
    if status := subprocess.run(command, cwd=ROOT, env=environment).returncode:
        sys.exit(status)
    print(f"lock/{name}.txt is up to date")
