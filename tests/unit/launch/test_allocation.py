"""Memory that was freed is used again."""

from __future__ import annotations

import platform
import resource
import subprocess
import sys

import pytest

BLOCK_BYTES = 40 << 20  # beyond what glibc learns to keep by itself
TIMES = 5
PROGRAM = f"""
import resource, sys
from stretto.launch.allocation import keep_freed_memory
told = sys.argv[1] != "keep" or keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({TIMES}):
    bytearray({BLOCK_BYTES})[::4096] = b"x" * ({BLOCK_BYTES} // 4096)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before if told else -1)
"""


def page_faults(word: str) -> int:
    """How many pages the system has to hand to a new process that makes the same block again and again.

    A forked one would not do: in what this process has freed there may be room for the block already.
    """
    program = [sys.executable, "-c", PROGRAM, word]
    return int(subprocess.run(program, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_a_process_that_keeps_its_memory_asks_the_system_once():
    pages = BLOCK_BYTES // resource.getpagesize()
    assert 0 <= page_faults("keep") < 3 * pages < page_faults("leave")
