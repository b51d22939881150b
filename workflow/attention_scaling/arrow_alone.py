"""pyarrow without pandas, for processes that have no use for pandas.

pyarrow imports pandas, where it is installed, to ask it whether a list is a Series. That takes longer than many
jobs do. It looks for pandas once in a process, so it is kept from finding it that once.
"""

from __future__ import annotations

import sys

import pyarrow as pa


class _NoPandas:
    """A finder of modules that finds no pandas."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("left out", name=name)


def leave_pandas_out() -> None:
    """Have this process's pyarrow take pandas for not installed; whoever else imports it gets it."""
    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(_NoPandas)
