"""How the tensors of an answer get to a caller: in memory that both share, or as bytes behind the message."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from stretto.communicate.parcel_connection import ParcelConnection
from stretto.communicate.shared_memory import Blocks


class Carrier(Protocol):
    """One caller's way: a block to write an answer's tensors into, then the message that speaks of it."""

    def block(self, slot: int, size: int) -> Tensor:
        """Memory for an answer, which the caller wants in this slot."""
        ...

    def send(self, message: bytes, block: Tensor) -> None:
        """Hand over the message with its block."""
        ...

    def close(self) -> None:
        """Free what is ours."""
        ...


class SharedMemory:
    """For a caller on this host: tensors are written once, where he reads them."""

    def __init__(self, connection: ParcelConnection) -> None:
        self._connection = connection
        self._blocks = Blocks()

    def block(self, slot: int, size: int) -> Tensor:
        """The memory that is mapped into the caller's slot."""
        return self._blocks.block(slot, size) if size else torch.empty(0, dtype=torch.uint8)

    def send(self, message: bytes, block: Tensor) -> None:
        """Send the message, and the memory file along with it if it is a new one."""
        self._connection.send(message, self._blocks.unsent)
        self._blocks.close()

    def close(self) -> None:
        """Forget the memory; what the caller holds of it stays his."""
        self._blocks.close()


class Bytes:
    """For a caller on another host: tensors are gathered in one block, which is used again for every answer."""

    def __init__(self, connection: ParcelConnection) -> None:
        self._connection = connection
        self._block = torch.empty(0, dtype=torch.uint8)

    def block(self, slot: int, size: int) -> Tensor:
        """The same memory every time: it is free as soon as it was sent."""
        if len(self._block) < size:
            self._block = torch.empty(size, dtype=torch.uint8)
        return self._block[:size]

    def send(self, message: bytes, block: Tensor) -> None:
        """Send the message and the block behind it."""
        self._connection.send_payload(message, block)

    def close(self) -> None:
        """There is nothing to free."""


def carrier(connection: ParcelConnection) -> Carrier:
    """The way that fits the connection."""
    return SharedMemory(connection) if connection.on_one_host else Bytes(connection)
