"""Memory that processes of one host share: files without a name, handed over a socket, gone with their last user."""

from __future__ import annotations

import fcntl
import mmap
import os
import weakref

import numpy as np
import torch
from torch import Tensor

from stretto.errors import WireError


def create(size: int) -> tuple[int, mmap.mmap]:
    """A new memory file whose length nobody can change any more, as a descriptor that is ours to close, and mapped."""
    descriptor = os.memfd_create("stretto-parcels", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _seals())
        return descriptor, mmap.mmap(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise


def adopt(descriptor: int) -> mmap.mmap:
    """A memory file that another process has made, mapped; `WireError` when it could be cut short while we read it."""
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
        if seals & _seals() != _seals():
            raise WireError("a parcel was refused: the length of its memory is not sealed")
        return mmap.mmap(descriptor, 0)
    except (OSError, ValueError) as error:
        raise WireError(f"a parcel was refused: its memory cannot be mapped: {error}") from error


class Blocks:
    """The answering side: one memory file for each slot that a caller has named, replaced when it becomes too small."""

    def __init__(self) -> None:
        self._mapped: dict[int, mmap.mmap] = {}
        self._unsent: int | None = None

    def block(self, slot: int, size: int) -> Tensor:
        """The slot's memory as `size` bytes.

        Files grow by doubling; what is never written to takes no memory.
        """
        if slot not in self._mapped or len(self._mapped[slot]) < size:
            self.close()
            self._unsent, self._mapped[slot] = create(1 << max(size - 1, mmap.PAGESIZE - 1).bit_length())
        return torch.frombuffer(self._mapped[slot], dtype=torch.uint8, count=size)

    @property
    def unsent(self) -> int | None:
        """The descriptor of a file that was made since `close`, which the caller has to be given."""
        return self._unsent

    def close(self) -> None:
        """Close that descriptor; what is mapped stays so."""
        if self._unsent is not None:
            os.close(self._unsent)
            self._unsent = None


class Slots:
    """The caller's side: which slots are free, and what is mapped into each.

    A slot is free again when the last tensor in its block is forgotten, views and slices of tensors included.
    """

    def __init__(self) -> None:
        self._mapped: dict[int, mmap.mmap] = {}
        self._free: list[int] = []
        self._made = 0

    @property
    def used(self) -> int:
        """How many slots are reserved or held."""
        return self._made - len(self._free)

    def reserve(self) -> int:
        """A free slot, the one that was used last if there are several: its memory is the warmest."""
        if self._free:
            return self._free.pop()
        self._made += 1
        return self._made - 1

    def release(self, slot: int) -> None:
        """Give back a slot into which nothing came."""
        self._free.append(slot)

    def replace(self, slot: int, descriptor: int) -> None:
        """Map a new memory file into the slot."""
        self._mapped[slot] = adopt(descriptor)

    def block(self, slot: int, size: int) -> Tensor:
        """The slot's memory as `size` bytes, which free it when they are forgotten; `WireError` if it has not as many.

        Forgetting may happen in any thread at any moment; appending to a list is safe there.
        """
        mapped = self._mapped.get(slot, b"")
        if not 0 < size <= len(mapped):
            raise WireError(f"a parcel was refused: its block has {size} bytes, its memory {len(mapped)}")
        base = np.frombuffer(mapped, np.uint8, count=size)
        weakref.finalize(base, self._free.append, slot).atexit = False
        return torch.from_numpy(base)

    def forget(self) -> None:
        """Let go of all memory; blocks that are held stay as they are."""
        self._mapped.clear()


def _seals() -> int:
    """Neither shorter nor longer: memory that somebody cuts short kills who reads it."""
    return fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
