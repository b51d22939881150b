"""How the C library's allocator deals with freed memory: kept for the next array, or returned."""

from __future__ import annotations

import ctypes
import sys

# Of glibc's mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3


def map_arrays_above(size: int) -> None:
    """Have arrays of more than `size` bytes mapped one by one, and returned to the system when they go.

    PyTorch asks for aligned memory, and freed aligned blocks of changing sizes leave holes that glibc before
    2.38 does not fill again (its bug 14581): a job of 370 MB came to 1.1 GB in one run of three. Mapping costs
    page faults, so arrays of the usual size had better stay below the threshold. Does nothing where the C
    library is another.
    """
    _mallopt(_M_MMAP_THRESHOLD, size)


def keep_freed(size: int) -> None:
    """Have up to `size` freed bytes kept for the next arrays.

    From 128 kB on, glibc otherwise returns their pages and asks for them again: where arrays of that size come
    and go all the time, page faults are a third of it. Does nothing where the C library is another.
    """
    _mallopt(_M_TRIM_THRESHOLD, size)
    _mallopt(_M_MMAP_THRESHOLD, size)


def _mallopt(option: int, value: int) -> None:
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(option, value)
