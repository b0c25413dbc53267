"""What replicas say to each other: the contract of every transport."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class Pending(Protocol):
    """An exchange that has begun; the tensor is not to be touched before `wait` returns."""

    def wait(self) -> None:
        """Return when the result is there; raise `PeerLost` when another seat has gone."""
        ...


class Transport(Protocol):
    """A group of seats that exchange tensors; every seat of the group makes the same calls in the same order.

    A peer that dies makes the calls of all others raise `PeerLost`; nobody waits for it. A transport is of no use after
    that: the next view has a new one.
    """

    rank: int
    size: int
    sent_bytes: int
    received_bytes: int

    @property
    def waited_s(self) -> float:
        """How long this seat has stood still for the others, on this channel and all that were split from it."""
        ...

    def sum(self, tensor: Tensor) -> Pending:
        """Begin to replace `tensor`, in place, by its sum over all seats."""
        ...

    def gather(self, tensor: Tensor, uneven: bool = False) -> list[Tensor]:
        """Return every seat's tensor in the order of ranks; `uneven` allows first dimensions that differ."""
        ...

    def broadcast(self, tensor: Tensor, source: int = 0) -> None:
        """Replace `tensor`, in place, by that of the seat `source`."""
        ...

    def split(self, purpose: str) -> Transport:
        """Return an independent channel among the same seats: calls on it need no order towards calls on this one."""
        ...

    def close(self) -> None:
        """Leave the group; safe to call twice and after `PeerLost`."""
        ...


class Waiting:
    """How long a seat has waited, on all of its channels together.

    >>> waiting = Waiting()
    >>> waiting.count(lambda: "done"), waiting.seconds >= 0
    ('done', True)
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def count(self, call: Callable[[], Any]) -> Any:
        """Do what may have to wait for other seats."""
        begun_s = time.monotonic()
        try:
            return call()
        finally:
            self.seconds += time.monotonic() - begun_s


def gather_bytes(transport: Transport, content: bytes) -> list[bytes]:
    """Return every seat's bytes in the order of ranks."""
    import torch

    mine = torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)
    return [bytes(theirs.tolist()) for theirs in transport.gather(mine, uneven=True)]
