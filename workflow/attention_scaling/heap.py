"""Keeping the memory of long jobs from growing."""

from __future__ import annotations

import ctypes
import sys

_M_MMAP_THRESHOLD = -3  # of glibc's mallopt(3)


def map_arrays_above(size: int) -> None:
    """Have arrays of more than `size` bytes mapped one by one, and returned to the system when they go.

    PyTorch asks for aligned memory, and freed aligned blocks of changing sizes leave holes that glibc before
    2.38 does not fill again (its bug 14581): a job of 370 MB came to 1.1 GB in one run of three. Mapping costs
    page faults, so arrays of the usual size had better stay below the threshold. Does nothing where the C
    library is another.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, size)
