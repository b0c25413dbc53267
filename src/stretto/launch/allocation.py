"""How a worker's C library deals with memory that was freed: it keeps it."""

from __future__ import annotations

import ctypes
from typing import Final

# The numbers that glibc's mallopt takes for what it can be told.
TRIM_THRESHOLD: Final = -1
TOP_PAD: Final = -2
MMAP_THRESHOLD: Final = -3
MOST_BYTES: Final = 2**31 - 1  # mallopt takes an int
LARGEST_HEAP_BYTES: Final = 32 * 2**20  # what older glibc takes at most
PAD_BYTES: Final = 64 * 2**20


def keep_freed_memory() -> bool:
    """Let freed memory be used again instead of being given back to the system; False where this cannot be said.

    Every layer of every step frees tensors that the next step makes again. By default glibc gives large ones back at
    once, and the system hands out the same pages anew, cleared, one by one: on processors that took more than a quarter
    of a ResNet's step. The price is that a process keeps what it once needed.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):  # not glibc
        return False
    # In this order: to be told one of the thresholds ends glibc's own tuning of the others.
    mapped = library.mallopt(MMAP_THRESHOLD, MOST_BYTES) or library.mallopt(MMAP_THRESHOLD, LARGEST_HEAP_BYTES)
    return bool(mapped and library.mallopt(TRIM_THRESHOLD, MOST_BYTES) and library.mallopt(TOP_PAD, PAD_BYTES))
