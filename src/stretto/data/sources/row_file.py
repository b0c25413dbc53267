"""Rows of a `.npy` file that is too large to be mapped: what was read does not stay in memory."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.ordering import Numbers

Rows = np.ndarray[Any, np.dtype[Any]]
_RUN_BYTES = 2**24


class RowFile:
    """Reads rows by number, neighbours together; what is float64 in the file comes as float32.

    Every page of a mapping that was touched counts as memory of the process, and the system maps up to two megabytes
    around it: 256 rows of 32 bytes cost 300 MB. Reading them one by one costs nothing and is as fast.
    """

    def __init__(self, path: Path | str, mapped: np.memmap[Any, Any]) -> None:
        self.shape, self.ndim = mapped.shape, mapped.ndim
        self.dtype = np.dtype(np.float32) if mapped.dtype == np.float64 else mapped.dtype
        self._path, self._start, self._stored = path, mapped.offset, mapped.dtype
        self._row_bytes = mapped.nbytes // len(mapped)
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def __len__(self) -> int:
        return int(self.shape[0])

    def take(self, rows: Numbers, axis: int = 0) -> Rows:
        """Return these rows in this order, as an array's own `take` does along its first axis."""
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"{self._path} has {len(self)} rows; {rows.min()} to {rows.max()} were asked for")
        content = np.empty((len(rows), *self.shape[1:]), self._stored)
        view = content.reshape(-1).view(np.uint8).data
        borders = [0, *(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), len(rows)]
        for start, stop in pairwise(borders):
            part = view[start * self._row_bytes : stop * self._row_bytes]
            self._read(part, self._start + int(rows[start]) * self._row_bytes if len(part) else 0)
        return content.astype(self.dtype, copy=False)

    def runs(self, starts: Numbers, count: int) -> Rows:
        """Return `count` neighbouring rows from each start on."""
        content = np.empty((len(starts), count, *self.shape[1:]), self._stored)
        view, size = content.reshape(-1).view(np.uint8).data, count * self._row_bytes
        for place, start in enumerate(starts.tolist()):
            self._read(view[place * size : (place + 1) * size], self._start + start * self._row_bytes)
        return content.astype(self.dtype, copy=False)

    def chunks(self) -> Iterator[Rows]:
        """Go through all rows, some megabytes at a time."""
        step = max(1, _RUN_BYTES // max(1, self._row_bytes))
        for start in range(0, len(self), step):
            yield self.take(np.arange(start, min(start + step, len(self))))

    def _read(self, content: memoryview, offset: int) -> None:
        while len(content):
            count = os.preadv(self._file, [content[:_RUN_BYTES]], offset)
            if not count:
                raise DataError(f"{self._path} ends at offset {offset}; it was whole when it was opened")
            content, offset = content[count:], offset + count
