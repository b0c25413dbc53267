"""Memory that was freed is used again."""

from __future__ import annotations

import os
import platform
import resource

import pytest

from stretto.launch.allocation import keep_freed_memory

BLOCK_BYTES = 40 << 20  # beyond what glibc learns to keep by itself
TIMES = 5


def page_faults(keep: bool) -> int:
    """How many pages the system has to hand to a new process that makes the same block again and again."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = not keep or keep_freed_memory()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(TIMES):
                bytearray(BLOCK_BYTES)[::4096] = b"x" * (BLOCK_BYTES // 4096)
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
            os.write(writing, str(faults if told else -1).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    found = int(os.read(reading, 100))
    os.close(reading)
    os.close(writing)
    return found


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_a_process_that_keeps_its_memory_asks_the_system_once():
    pages = BLOCK_BYTES // resource.getpagesize()
    assert 0 <= page_faults(keep=True) < 3 * pages < page_faults(keep=False)
