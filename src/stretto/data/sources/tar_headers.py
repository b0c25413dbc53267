"""The headers of a tar file: what its members are called and where their bytes are, without reading those."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from stretto.data.sources.files import File

BLOCK = 512
LONGEST_NAME = 2**20
_ADLER = 65521
_FILES = (b"0", b"\0", b"7")
_LONG_NAME, _LONG_LINK, _EXTENDED, _EXTENDED_FOR_ALL = b"L", b"K", b"x", b"g"


class Member(NamedTuple):
    """A file in a tar file; `flaw` says what is wrong with it. What has no name is a place where no header is."""

    name: str
    offset: int
    size: int
    flaw: str | None = None


class Window:
    """Reads a file from its beginning to its end, a piece at a time however little is asked for."""

    def __init__(self, file: File) -> None:
        self.file = file
        self._start, self._content = 0, b""

    def take(self, offset: int, length: int) -> bytes:
        """Return these bytes, which the file must have."""
        start = offset - self._start
        if start < 0 or start + length > len(self._content):
            piece = min(max(length, self.file.piece), self.file.size - offset)
            self._start, self._content, start = offset, self.file.read_at(offset, piece), 0
        return self._content[start : start + length]


@dataclass(slots=True)
class _Next:
    """What extended headers say of the member that follows them."""

    name: str | None = None
    size: int | None = None


def read_members(window: Window) -> Iterator[Member]:
    """Go from header to header; after one that is damaged, the next block that is a header goes on."""
    offset, end, said, lost = 0, window.file.size, _Next(), False
    while offset + BLOCK <= end:
        header = window.take(offset, BLOCK)
        if not lost and header.count(0) == BLOCK:
            return
        size = _size(header)
        if size is None:
            if not lost:
                yield Member("", offset, 0, "this is no header of a tar file")
            offset, said, lost = offset + BLOCK, _Next(), True
            continue
        kind, content, lost = header[156:157], offset + BLOCK, False
        is_told = kind in (_LONG_NAME, _LONG_LINK, _EXTENDED, _EXTENDED_FOR_ALL)
        if not is_told:
            size = size if said.size is None else said.size
        flaw = f"ends at offset {end}, but this member goes to {content + size}" if content + size > end else None
        if is_told and flaw is None:
            _hear(kind, window.take(content, size) if size <= LONGEST_NAME else b"", said)
        else:
            if kind in _FILES or flaw:
                yield Member(_name(header) if said.name is None else said.name, content, size, flaw)
            said = _Next()
        offset = content + -(-size // BLOCK) * BLOCK
        if flaw:
            return
    yield Member("", end, 0, "the file ends without the empty block that closes it; it has been cut")


def _size(header: bytes) -> int | None:
    """What the header says of the size, or None where it is no header."""
    # Adler's first sum is that of the bytes, modulo a prime, and thirty times as fast as a loop over them.
    told = header[148:156]
    counted = (zlib.adler32(header) & 0xFFFF) - 1 - sum(told) + 8 * 32
    try:
        if (counted - _octal(told)) % _ADLER:
            return None
        size = int.from_bytes(header[125:136], "big") if header[124] == 0x80 else _octal(header[124:136])
    except ValueError:
        return None
    return size if size >= 0 else None


def _octal(field: bytes) -> int:
    return int(field.rstrip(b"\0 ") or b"0", 8)


def _name(header: bytes) -> str:
    name = header[:100].partition(b"\0")[0]
    if header[257:263] == b"ustar\0" and header[345]:
        name = header[345:500].partition(b"\0")[0] + b"/" + name
    return name.decode(errors="surrogateescape")


def _hear(kind: bytes, content: bytes, said: _Next) -> None:
    if kind == _LONG_NAME:
        said.name = content.rstrip(b"\0").decode(errors="surrogateescape")
    elif kind == _EXTENDED:
        for key, value in _records(content):
            if key == b"path":
                said.name = value.decode(errors="surrogateescape")
            elif key == b"size" and value.isdigit():
                said.size = int(value)


def _records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Lines of `length key=value`, where the length is that of the whole line."""
    while content:
        length, _, _ = content.partition(b" ")
        if not length.isdigit() or not len(length) < int(length) <= len(content):
            return
        key, _, value = content[len(length) + 1 : int(length) - 1].partition(b"=")
        yield key, value
        content = content[int(length) :]
