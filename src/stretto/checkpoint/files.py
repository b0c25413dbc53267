"""The thin layer under the folder store: everything that touches a disk, and nothing else.

The store writes through this contract alone, so that tests put a layer in its place that stops after byte n, refuses
with a full disk, or loses what was not fsynced.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Protocol

from stretto.checkpoint.memory_block import allocate

CHUNK_BYTES = 16 << 20


class Files(Protocol):
    """What a store needs of a file system; every method raises OSError as the system does."""

    def make_folder(self, path: Path) -> None:
        """Make a folder and its parents, surely on disk; one that exists is fine."""
        ...

    def create(self, path: Path) -> int:
        """Open a file that must not exist for writing and return its handle."""
        ...

    def write(self, handle: int, content: bytes | memoryview) -> None:
        """Append all of the content."""
        ...

    def sync(self, handle: int) -> None:
        """Return when the file's content is surely on disk."""
        ...

    def close(self, handle: int) -> None:
        """Give the handle back."""
        ...

    def sync_folder(self, path: Path) -> None:
        """Return when the folder's names (files made, renamed, removed in it) are surely on disk."""
        ...

    def rename(self, old: Path, new: Path) -> None:
        """Give a file or a folder another name, at once or not at all."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file."""
        ...

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        ...

    def names(self, path: Path) -> list[str]:
        """What a folder holds, sorted; nothing for a folder that does not exist."""
        ...

    def size(self, path: Path) -> int:
        """The bytes of a file."""
        ...

    def read(self, path: Path) -> memoryview:
        """The content of a file, in memory of its own that may be written."""
        ...

    def free_bytes(self, path: Path) -> int:
        """The bytes that can still be written where the path lies."""
        ...


class DiskFiles:
    """The real disk."""

    def make_folder(self, path: Path) -> None:
        made = [each for each in (path, *path.parents) if not each.exists()]
        path.mkdir(parents=True, exist_ok=True)
        for each in made:
            self.sync_folder(each.parent)

    def create(self, path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o644)

    def write(self, handle: int, content: bytes | memoryview) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest[:CHUNK_BYTES]) :]

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def close(self, handle: int) -> None:
        os.close(handle)

    def sync_folder(self, path: Path) -> None:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)

    def remove(self, path: Path) -> None:
        path.unlink()

    def remove_folder(self, path: Path) -> None:
        path.rmdir()

    def names(self, path: Path) -> list[str]:
        return sorted(each.name for each in path.iterdir()) if path.is_dir() else []

    def size(self, path: Path) -> int:
        return path.stat().st_size

    def read(self, path: Path) -> memoryview:
        with path.open("rb", buffering=0) as file:
            content = memoryview(allocate(size := self.size(path)))[:size]
            filled = 0
            while filled < size and (count := file.readinto(content[filled:])):
                filled += count
        return content[:filled]

    def free_bytes(self, path: Path) -> int:
        return shutil.disk_usage(path).free
