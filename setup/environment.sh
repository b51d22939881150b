#!/bin/sh
# Puts the pinned environment into .venv, or does nothing where it is there: environment.sh report|test|cluster|publish
#
# This much is shell because no usable Python may have been found yet; the rest is environment.py.
# PYTHON=/path/to/python3.12 in the environment names the interpreter to use.
set -eu
cd "$(dirname "$0")/.."

if .venv/bin/python -I -S setup/environment.py --check "$1" 2>/dev/null; then
    exit 0
fi

found=
for candidate in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
    version=$("$candidate" -c 'import platform; print(platform.python_version())' 2>/dev/null) || continue
    if ! "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        found="$found, $candidate is $version"
    elif ! "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
        found="$found, $candidate ($version) has no venv module (Debian and Ubuntu: apt-get install python3-venv)"
    else
        exec "$candidate" setup/environment.py "$1"
    fi
done
echo "set-up: Python 3.11 or newer with its venv module is needed (PYTHON=/path/to/python3 names one)${found:-, none was found}" >&2
exit 1
