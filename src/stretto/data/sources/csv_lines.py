"""Where the lines of a file begin and how many there are, found at the speed at which the file can be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow

_END = ord("\n")


@dataclass(frozen=True, slots=True)
class Lines:
    """A stretch of whole lines: from which offset to which, and how many."""

    start: int
    stop: int
    count: int


def count_lines(file: pyarrow.NativeFile, start: int, part_bytes: int) -> Iterator[Lines]:
    """Cut a file, from `start` on, into stretches of about `part_bytes`; empty lines at its end do not count.

    A stretch ends where the last line ends that ends in its bytes; so nothing of one has to be kept for the next.
    """
    end = _end(file, start)
    buffer = np.empty(part_bytes, np.uint8)
    for offset in range(start, end, part_bytes):
        file.seek(offset)
        found = buffer[: file.readinto(buffer[: min(part_bytes, end - offset)].data)]
        ends = int(np.count_nonzero(found == _END))
        if offset + len(found) >= end:
            yield Lines(start, end, ends + 1)  # the last line has no end that counts
        elif ends:
            stop = offset + int(found.tobytes().rindex(b"\n")) + 1
            yield Lines(start, stop, ends)
            start = stop


def line_offset(content: bytes, row: int) -> int:
    """Return at which offset a line of a stretch begins."""
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == _END)
    return int(ends[row - 1]) + 1 if row else 0


def _end(file: pyarrow.NativeFile, start: int) -> int:
    """Return where the last line that is not empty ends."""
    end = int(file.size())
    while end > start:
        begin = max(start, end - 4096)
        left = len(file.read_at(end - begin, begin).rstrip(b"\r\n"))
        if left:
            return begin + left
        end = begin
    return start
