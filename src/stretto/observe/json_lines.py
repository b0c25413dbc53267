"""Events as a file of JSON lines, the run's own record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from stretto.observe.event import Event


class JsonLines:
    """Appends one line per event and hands it to the operating system at once, so that a kill loses nothing written.

    A line that a kill tore apart is cut off before anything is appended, so that every line of the file can be read.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        _mend(path)
        self._path = path
        self._file = path.open("ab", buffering=0)

    def write(self, event: Event) -> None:
        """Append the event; raises `OSError` when the disk does not take all of it."""
        line = event.to_line()
        written_bytes = self._file.write(line)
        if written_bytes != len(line):
            raise OSError(f"{self._path}: only {written_bytes} of {len(line)} bytes were written; is the disk full?")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of a file, oldest first, passing over lines that are torn or damaged; no file, no events."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for line in lines:
            with suppress(ValueError):
                yield Event.from_line(line)


def _mend(path: Path) -> None:
    """Finish or cut off the last line, where a kill came between a line and its end."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        line, start = _last_line(file)
        if not line or line.endswith(b"\n"):
            return
        try:
            Event.from_line(line)
        except ValueError:
            file.truncate(start)
        else:
            file.seek(0, os.SEEK_END)
            file.write(b"\n")


def _last_line(file: BinaryIO, block_bytes: int = 65536) -> tuple[bytes, int]:
    """The last line with its end, if it has one, and where it begins; read backwards, for the file may be long."""
    start = file.seek(0, os.SEEK_END)
    tail = b""
    while start > 0 and b"\n" not in tail[:-1]:
        block = min(block_bytes, start)
        start = file.seek(start - block)
        tail = file.read(block) + tail
    offset = tail.rfind(b"\n", 0, -1) + 1
    return tail[offset:], start + offset
