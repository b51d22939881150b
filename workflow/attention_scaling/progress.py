"""Progress of long work: a bar in a terminal, plain lines in a log, nothing for what is over in a moment."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

QUIET_SECONDS = 3.0
LOG_SECONDS = 10.0


class Progress:
    """Counts units of work on standard error; use as a context and call `advance`."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        in_terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=total,
            desc=title,
            unit=f" {unit}",
            unit_scale=True,
            delay=QUIET_SECONDS,
            mininterval=0.1 if in_terminal else LOG_SECONDS,
            # A bar overwrites its line; in a log every state gets a line of its own.
            bar_format=None
            if in_terminal
            else "{desc}: {n_fmt} of {total_fmt}{unit}, {rate_fmt}, {remaining} left\n",
            dynamic_ncols=in_terminal,
            ascii=not in_terminal,
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._bar.close()

    def advance(self, count: int) -> None:
        """Say that `count` more units are done."""
        self._bar.update(count)
