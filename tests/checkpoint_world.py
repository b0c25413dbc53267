"""A disk that can be stopped, filled and robbed of what was not fsynced, for everything that tests checkpoints."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch


def equal(left: Any, right: Any) -> bool:
    """Whether two states are the same, types and every bit of every tensor included."""
    if type(left) is not type(right):
        return False
    if isinstance(left, torch.Tensor):
        same_kind = left.dtype == right.dtype and left.shape == right.shape
        return same_kind and torch.equal(_bits(left), _bits(right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    return left == right or (left != left and right != right)


def small_state(number: int, seat: int = 0) -> dict[str, Any]:
    """A tiny state of a seat that differs in every part from that of another number or seat."""
    generator = torch.Generator().manual_seed(1000 * number + seat)
    return {
        "model": {"weight": torch.randn(2, 3, generator=generator), "count": torch.tensor(number)},
        "rng": torch.randint(0, 256, (5,), dtype=torch.uint8, generator=generator),
        "position": (number, seat),
    }


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


@dataclass
class File:
    """A file with what programs see and what would survive a power cut."""

    content: bytearray = field(default_factory=bytearray)
    durable: bytes = b""


@dataclass
class Folder:
    """A folder with what programs see, what would survive, and the changes of names in between."""

    entries: dict[str, File | Folder] = field(default_factory=dict)
    durable: dict[str, File | Folder] = field(default_factory=dict)
    changes: list[Callable[[dict[str, Any]], None]] = field(default_factory=list)

    def change(self, apply: Callable[[dict[str, Any]], None]) -> None:
        apply(self.entries)
        self.changes.append(apply)


class SimulatedDisk:
    """`Files` in memory with a page cache: only what was fsynced surely survives a power cut.

    `at_instant` is called at every instant at which a process could be killed: before and after every call, and after
    every byte written. `refuse` may raise OSError instead of the call it is told of.
    """

    def __init__(self) -> None:
        self.root = Folder()
        self.at_instant: Callable[[], None] = lambda: None
        self.refuse: Callable[[str, int], None] = lambda operation, size: None
        self._handles: list[File] = []

    def make_folder(self, path: Path) -> None:
        folder = self.root
        for name in path.parts:
            if name not in folder.entries:
                self._begin("make_folder")
                made = Folder()
                folder.change(lambda entries, name=name, made=made: entries.__setitem__(name, made))
                self._sync_names(folder)
            folder = folder.entries[name]

    def create(self, path: Path) -> int:
        self._begin("create")
        parent = self._folder(path.parent)
        if path.name in parent.entries:
            raise FileExistsError(errno.EEXIST, "File exists", str(path))
        made = File()
        parent.change(lambda entries: entries.__setitem__(path.name, made))
        self._handles.append(made)
        self.at_instant()
        return len(self._handles) - 1

    def write(self, handle: int, content: bytes | memoryview) -> None:
        for byte in bytes(content):
            self.refuse("write", 1)
            self._handles[handle].content.append(byte)
            self.at_instant()

    def sync(self, handle: int) -> None:
        self._begin("sync")
        self._handles[handle].durable = bytes(self._handles[handle].content)
        self.at_instant()

    def close(self, handle: int) -> None:
        self.at_instant()

    def sync_folder(self, path: Path) -> None:
        self._begin("sync_folder")
        self._sync_names(self._folder(path))

    def rename(self, old: Path, new: Path) -> None:
        self._begin("rename")
        parent = self._folder(old.parent)
        if new.name in parent.entries or old.parent != new.parent:
            raise OSError(errno.ENOTEMPTY, "Directory not empty", str(new))
        moved = parent.entries[old.name]

        def apply(entries: dict[str, Any]) -> None:
            entries.pop(old.name, None)
            entries[new.name] = moved

        parent.change(apply)
        self.at_instant()

    def remove(self, path: Path) -> None:
        self._begin("remove")
        self._file(path)
        self._folder(path.parent).change(lambda entries: entries.pop(path.name, None))
        self.at_instant()

    def remove_folder(self, path: Path) -> None:
        self._begin("remove_folder")
        if self._folder(path).entries:
            raise OSError(errno.ENOTEMPTY, "Directory not empty", str(path))
        self._folder(path.parent).change(lambda entries: entries.pop(path.name, None))
        self.at_instant()

    def names(self, path: Path) -> list[str]:
        try:
            return sorted(self._folder(path).entries)
        except FileNotFoundError:
            return []

    def size(self, path: Path) -> int:
        return len(self._file(path).content)

    def read(self, path: Path) -> memoryview:
        return memoryview(bytearray(self._file(path).content))

    def free_bytes(self, path: Path) -> int:
        return 17

    def after_kill(self) -> SimulatedDisk:
        """The disk as the next process finds it: all that was written is there."""
        return self._survivor(lambda folder: dict(folder.entries), lambda file: bytes(file.content))

    def after_power_cut(self, chance: random.Random | None = None) -> SimulatedDisk:
        """The disk after a power cut: nothing un-fsynced is left, or (with chance) any part of it."""
        if chance is None:
            return self._survivor(lambda folder: dict(folder.durable), lambda file: file.durable)

        def some_names(folder: Folder) -> dict[str, Any]:
            entries = dict(folder.durable)
            for change in folder.changes:
                if chance.random() < 0.5:
                    change(entries)
            return entries

        def some_bytes(file: File) -> bytes:
            content = bytes(file.content)
            if content == file.durable:
                return content
            kept = chance.randint(0, len(content))
            return content[:kept] + bytes(chance.choice([0, len(content) - kept]))

        return self._survivor(some_names, some_bytes)

    def _survivor(
        self, entries_of: Callable[[Folder], dict[str, Any]], content_of: Callable[[File], bytes]
    ) -> SimulatedDisk:
        def survive(node: File | Folder) -> File | Folder:
            if isinstance(node, File):
                content = content_of(node)
                return File(bytearray(content), content)
            entries = {name: survive(each) for name, each in entries_of(node).items()}
            return Folder(entries, dict(entries))

        survivor = SimulatedDisk()
        root = survive(self.root)
        assert isinstance(root, Folder)
        survivor.root = root
        return survivor

    def _sync_names(self, folder: Folder) -> None:
        self.at_instant()
        folder.durable, folder.changes = dict(folder.entries), []
        self.at_instant()

    def _begin(self, operation: str) -> None:
        self.at_instant()
        self.refuse(operation, 0)

    def _folder(self, path: Path) -> Folder:
        node: File | Folder = self.root
        for name in path.parts:
            node = node.entries.get(name) if isinstance(node, Folder) else None  # type: ignore[assignment]
        if not isinstance(node, Folder):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        return node

    def _file(self, path: Path) -> File:
        node = self._folder(path.parent).entries.get(path.name)
        if not isinstance(node, File):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        return node

    def files(self) -> list[str]:
        """Every file and folder there is, as paths."""

        def walk(folder: Folder, prefix: str) -> list[str]:
            found = []
            for name, node in folder.entries.items():
                found.append(f"{prefix}{name}")
                found += walk(node, f"{prefix}{name}/") if isinstance(node, Folder) else []
            return found

        return sorted(walk(self.root, ""))


def full_after(room: int) -> Callable[[str, int], None]:
    """A disk with room for so many bytes more."""
    written = 0

    def refuse(operation: str, size: int) -> None:
        nonlocal written
        written += size
        if size and written > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return refuse


def broken_at(number: int, code: int = errno.EIO) -> Callable[[str, int], None]:
    """A disk whose operation of this number (bytes do not count) fails, once."""
    count = -1

    def refuse(operation: str, size: int) -> None:
        nonlocal count
        count += size == 0
        if not size and count == number:
            raise OSError(code, os.strerror(code))

    return refuse
