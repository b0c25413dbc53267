"""Where the messages of an Arrow IPC file stand, and how many rows each has, without reading their contents."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stretto.errors import DataError

if TYPE_CHECKING:
    import pyarrow

_MAGIC, _OLD_MAGIC = b"ARROW1\0\0", b"FEA1"
_CONTINUES = 0xFFFFFFFF
_RECORD_BATCH = 3
_KIND, _HEADER, _BODY_BYTES = 1, 2, 3  # numbers of a message's fields
_MOST_ROWS_PER_BYTE = 2**14  # nothing packs better
_ROWS = 0  # number of a record batch's field


@dataclass(frozen=True, slots=True)
class Message:
    """One message: where it stands, and its rows, or None where it is no record batch."""

    offset: int
    size: int
    rows: int | None


def read_messages(path: str, file: pyarrow.NativeFile) -> Iterator[Message]:
    """Go from message to message; files and streams differ in what stands before and after them only.

    `DataError` says at which offset a file is damaged or ends too early.
    """
    size, start = file.size(), file.read_at(8, 0)
    if start[:4] == _OLD_MAGIC:
        raise DataError(f"{path} is Feather of version 1, which nobody writes any more; save it anew")
    offset = len(_MAGIC) if start == _MAGIC else 0
    while offset < size:
        try:
            message = _message(file, offset)
        except (struct.error, IndexError) as error:
            raise DataError(f"{path}: no Arrow message at offset {offset}; get the file anew") from error
        if message is None:
            return
        if message.offset + message.size > size or message.size <= 0:
            raise DataError(f"{path}: ends at offset {size}, but the message at {offset} has {message.size} bytes")
        if not 0 <= (message.rows or 0) <= message.size * _MOST_ROWS_PER_BYTE:
            raise DataError(
                f"{path}: the message at offset {offset} says it has {message.rows} rows; get the file anew"
            )
        yield message
        offset += message.size


def _message(file: pyarrow.NativeFile, offset: int) -> Message | None:
    first, second = struct.unpack("<II", file.read_at(8, offset).ljust(8, b"\0"))
    head, length = (8, second) if first == _CONTINUES else (4, first)  # files older than 2019 have no marker
    if not length:
        return None
    if length > file.size():
        raise IndexError(length)
    described = _Table(file.read_at(length, offset + head))
    size = head + length + described.number("<q", _BODY_BYTES)
    if described.number("<B", _KIND) != _RECORD_BATCH:
        return Message(offset, size, None)
    return Message(offset, size, described.inner(_HEADER).number("<q", _ROWS))


class _Table:
    """A table of a flatbuffer, as far as it is needed to walk: fields are found through a table of offsets."""

    def __init__(self, content: bytes, start: int | None = None) -> None:
        self._content = content
        self._start = struct.unpack_from("<I", content)[0] if start is None else start

    def number(self, form: str, field: int) -> int:
        """Return a number, which is 0 where it is left out."""
        at = self._at(field)
        return int(struct.unpack_from(form, self._content, at)[0]) if at else 0

    def inner(self, field: int) -> _Table:
        """Return the table that a field refers to."""
        at = self._at(field)
        return _Table(self._content, at + struct.unpack_from("<I", self._content, at)[0])

    def _at(self, field: int) -> int:
        offsets = self._start - struct.unpack_from("<i", self._content, self._start)[0]
        place = 4 + 2 * field
        if place >= struct.unpack_from("<H", self._content, offsets)[0]:
            return 0
        found = struct.unpack_from("<H", self._content, offsets + place)[0]
        return self._start + int(found) if found else 0
