"""The IDX format, in which the MNIST family of data sets is kept."""

from __future__ import annotations

import gzip
import struct
import zlib
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from stretto.errors import DataError

UNSIGNED_BYTES = 0x08
_CHUNK_BYTES = 2**20


def read_idx(path: Path, dimensions: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Decode a file of unsigned bytes, gzipped if it is called `.gz`.

    `DataError` names the file and the decoded offset where it is wrong.
    """
    with cast(BinaryIO, gzip.open(path)) if path.suffix == ".gz" else path.open("rb") as file:
        header = _read_exactly(file, path, 0, 4 + 4 * dimensions)
        magic = struct.unpack(">HBB", header[:4])
        if magic != (0, UNSIGNED_BYTES, dimensions):
            raise DataError(
                f"{path}: wrong magic {header[:4].hex()} at offset 0; "
                f"an IDX file of bytes with {dimensions} dimensions begins with {UNSIGNED_BYTES * 256 + dimensions:08x}"
            )
        shape = struct.unpack(f">{dimensions}I", header[4:])
        content = _read_exactly(file, path, len(header), prod(shape))
        if _read_some(file, path, len(header) + len(content), 1):
            raise DataError(f"{path}: goes on after offset {len(header) + len(content)}, where {shape} values end")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _read_exactly(file: BinaryIO, path: Path, offset: int, size: int) -> bytearray:
    content = bytearray()
    while len(content) < size:
        part = _read_some(file, path, offset + len(content), min(size - len(content), _CHUNK_BYTES))
        if not part:
            raise DataError(
                f"{path}: ends at offset {offset + len(content)} of {offset + size} bytes; get the file anew"
            )
        content += part
    return content


def _read_some(file: BinaryIO, path: Path, offset: int, size: int) -> bytes:
    try:
        return file.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: damaged after offset {offset}: {error}; get the file anew") from error
