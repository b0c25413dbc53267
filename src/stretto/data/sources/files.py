"""Files that are read at any place by several threads: those of this machine, and those behind a protocol."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import Any, Protocol

from stretto.errors import DataError

Range = tuple[int, int]


class File(Protocol):
    """A file that is open for reading; it remembers no position, so threads and forked processes may share it."""

    path: str
    size: int
    piece: int
    """How many bytes are worth reading when only a few are needed, but soon those that follow them."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Return exactly these bytes; `DataError` says where the file ends if it ends before."""
        ...

    def read_ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return several parts (offset, length), all asked for at once where that saves waiting."""
        ...


class LocalFile:
    """A file of this machine; it is closed when it is forgotten."""

    piece = 2**13

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = -1
        try:
            # Without O_NONBLOCK a named pipe would be waited for, before anybody could see that it is one.
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            status = os.fstat(self._descriptor)
        except (OSError, ValueError) as error:
            raise refusal(path, error) from error
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} is no file; name a file")
        self.size = status.st_size

    def read_at(self, offset: int, length: int) -> bytes:
        """Return exactly these bytes."""
        try:
            content = os.pread(self._descriptor, length, offset)
            while len(content) < length:  # a system reads at most 2 GiB at once
                part = os.pread(self._descriptor, length - len(content), offset + len(content))
                if not part:
                    break
                content += part
        except OSError as error:
            raise refusal(self.path, error) from error
        return _whole(self.path, offset, length, content)

    def read_ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return several parts, one after the other."""
        return [self.read_at(*each) for each in ranges]

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


class RemoteFile:
    """A file that fsspec can reach: `memory://`, `s3://`, `https://` and so on."""

    piece = 2**22

    def __init__(self, path: str) -> None:
        self.path = path
        system, place = find_system(path)
        try:
            size = system.info(place)["size"]
        except Exception as error:  # every protocol has errors of its own
            raise refusal(path, error) from error
        if size is None:
            raise DataError(f"{path}: the server does not say how long the file is; copy it to a disk first")
        self.size: int = size

    def read_at(self, offset: int, length: int) -> bytes:
        """Return exactly these bytes."""
        return self.read_ranges([(offset, length)])[0]

    def read_ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return several parts; a protocol that can have many requests under way asks for all of them together."""
        # Found again for each reading: a connection that was made before a fork is of no use after it.
        system, place = find_system(self.path)
        starts = [offset for offset, _ in ranges]
        stops = [offset + length for offset, length in ranges]
        try:
            contents = system.cat_ranges([place] * len(ranges), starts, stops, on_error="raise")
        except Exception as error:
            raise refusal(self.path, error) from error
        return [_whole(self.path, *each, content) for each, content in zip(ranges, contents, strict=True)]


def open_file(path: str) -> File:
    """Open a local path (plain, or `file://`) or one that begins with any protocol of fsspec."""
    return RemoteFile(path) if is_remote(path) else LocalFile(local_path(path))


def read_whole(path: str) -> bytes:
    """Return all bytes of a file."""
    file = open_file(path)
    return file.read_at(0, file.size)


def is_remote(path: str) -> bool:
    """Whether a path has to be read through a protocol.

    >>> is_remote("s3://bucket/a.tar"), is_remote("file:///data/a.tar"), is_remote("a.tar")
    (True, False, False)
    """
    return "://" in path and not path.startswith("file://")


def local_path(path: str) -> str:
    """A local path as the system takes it."""
    return path.removeprefix("file://")


def find_system(path: str) -> tuple[Any, str]:
    """Find fsspec's file system for a remote path, and what the path is called there."""
    from fsspec.core import url_to_fs

    try:
        system, place = url_to_fs(path)
    except (ImportError, ValueError) as error:  # a package that is not installed, a protocol that nobody knows
        scheme = path.partition("://")[0]
        raise DataError(f"{path}: {scheme} needs another package: {error}; install it, or copy the files") from error
    return system, place


def refusal(path: str, error: Exception) -> DataError:
    """The words for a file that the system or a server does not give."""
    if isinstance(error, FileNotFoundError):
        return DataError(f"{path} does not exist; name a file that does")
    if isinstance(error, PermissionError):
        return DataError(f"{path} may not be read ({error}); give the user who trains the right to read it")
    return DataError(f"{path} cannot be read: {type(error).__name__}: {error}")


def _whole(path: str, offset: int, length: int, content: bytes) -> bytes:
    if len(content) < length:
        raise DataError(
            f"{path} ends at offset {offset + len(content)}, but bytes {offset} to {offset + length} are needed; "
            "get the file anew"
        )
    return content
