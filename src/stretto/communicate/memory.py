"""Seats that are threads of one process and take turns: for tests and debuggers."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from stretto.communicate.transport import Waiting
from stretto.errors import PeerLost

Combine = Callable[[list[Tensor]], Any]


@dataclass(slots=True)
class Meeting:
    """One exchange: what each seat brought, and the result once all have."""

    brought: dict[int, Tensor] = field(default_factory=dict)
    taken: int = 0
    result: Any = None
    complete: bool = False


class MemoryWorld:
    """A group of threads of which one runs at a time, until it has to wait for the others.

    Because seats run in turn and each keeps its own random state, a run is the same every time, whatever the operating
    system does with the threads. A seat that leaves while others wait for it makes them raise `PeerLost`.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._change = threading.Condition()
        self._turn = 0
        self._present = set(range(size))
        self._waiting: dict[int, tuple[str, int]] = {}
        self._meetings: dict[tuple[str, int], Meeting] = {}

    @contextmanager
    def seat(self, rank: int) -> Iterator[MemoryTransport]:
        """Run the body as the seat `rank`, in its turns; leaving the body leaves the group."""
        with self._change:
            self._await_turn(rank)
        transport = MemoryTransport(self, rank, "main", Waiting())
        try:
            yield transport
        finally:
            self.leave(rank)

    def leave(self, rank: int) -> None:
        """Take a seat out of the group and hand on the turn."""
        with self._change:
            self._present.discard(rank)
            if self._turn == rank:
                self._hand_on(rank)
            self._change.notify_all()

    def bring(self, key: tuple[str, int], rank: int, tensor: Tensor, combine: Combine) -> None:
        """Put a seat's part into a meeting; the last to bring one combines them all in the order of ranks."""
        with self._change:
            meeting = self._meetings.setdefault(key, Meeting())
            meeting.brought[rank] = tensor
            if len(meeting.brought) == self.size:
                meeting.result = combine([meeting.brought[r] for r in range(self.size)])
                meeting.complete = True

    def take(self, key: tuple[str, int], rank: int) -> Any:
        """Wait for a meeting to be complete, letting the others run meanwhile, and return its result."""
        with self._change:
            meeting = self._meetings[key]
            if not meeting.complete:
                self._pause(key, rank, meeting)
            meeting.taken += 1
            if meeting.taken == self.size:
                del self._meetings[key]
            return meeting.result

    def _pause(self, key: tuple[str, int], rank: int, meeting: Meeting) -> None:
        state = _random_state()
        self._waiting[rank] = key
        while not meeting.complete:
            if len(self._present) < self.size:
                raise PeerLost(f"seat {min(set(range(self.size)) - self._present)} has left the group")
            if all(r in self._waiting and not self._meetings[self._waiting[r]].complete for r in self._present):
                raise PeerLost(f"the seats wait for each other in different exchanges: {sorted(self._waiting.items())}")
            self._hand_on(rank)
            self._await_turn(rank)
        del self._waiting[rank]
        _set_random_state(state)

    def _hand_on(self, rank: int) -> None:
        following = [(rank + step) % self.size for step in range(1, self.size + 1)]
        self._turn = next((r for r in following if r in self._present), rank)
        self._change.notify_all()

    def _await_turn(self, rank: int) -> None:
        self._change.wait_for(lambda: self._turn == rank)


class MemoryWorlds:
    """One `MemoryWorld` for each view of a run."""

    def __init__(self) -> None:
        self._worlds: dict[int, MemoryWorld] = {}
        self._lock = threading.Lock()

    def of(self, view: int, size: int) -> MemoryWorld:
        """The world in which the seats of a view meet."""
        with self._lock:
            return self._worlds.setdefault(view, MemoryWorld(size))


class MemoryTransport:
    """One seat's end of a `MemoryWorld`."""

    def __init__(self, world: MemoryWorld, rank: int, channel: str, waiting: Waiting) -> None:
        self.rank, self.size = rank, world.size
        self.sent_bytes = self.received_bytes = 0
        self._world, self._channel, self._calls = world, channel, 0
        self._waiting = waiting

    @property
    def waited_s(self) -> float:
        """How long this seat has let the others run."""
        return self._waiting.seconds

    def sum(self, tensor: Tensor) -> MemorySum:
        """Begin to sum a tensor over the seats, in the order of ranks."""
        key = self._bring(tensor, lambda parts: torch.stack(parts).sum(0))
        return MemorySum(self, key, tensor)

    def gather(self, tensor: Tensor, uneven: bool = False) -> list[Tensor]:
        """Return every seat's tensor."""
        key = self._bring(tensor, lambda parts: [part.detach().clone() for part in parts])
        return [part.clone() for part in self.take(key)]

    def broadcast(self, tensor: Tensor, source: int = 0) -> None:
        """Take over the tensor of the seat `source`."""
        key = self._bring(tensor, lambda parts: parts[source].detach().clone())
        with torch.no_grad():
            tensor.copy_(self.take(key))

    def take(self, key: tuple[str, int]) -> Any:
        """Wait for a meeting that this seat has brought its part to."""
        return self._waiting.count(lambda: self._world.take(key, self.rank))

    def split(self, purpose: str) -> MemoryTransport:
        """Return a channel of its own."""
        return MemoryTransport(self._world, self.rank, f"{self._channel}/{purpose}", self._waiting)

    def close(self) -> None:
        """Leave the group, so that nobody waits for this seat."""
        self._world.leave(self.rank)

    def _bring(self, tensor: Tensor, combine: Combine) -> tuple[str, int]:
        key = (self._channel, self._calls)
        self._calls += 1
        moved_bytes = tensor.numel() * tensor.element_size()
        self.sent_bytes += moved_bytes
        self.received_bytes += moved_bytes * (self.size - 1)
        self._world.bring(key, self.rank, tensor, combine)
        return key


class MemorySum:
    """A sum among threads that has begun."""

    def __init__(self, transport: MemoryTransport, key: tuple[str, int], tensor: Tensor) -> None:
        self._transport, self._key, self._tensor = transport, key, tensor

    def wait(self) -> None:
        """Copy the sum into the tensor once every seat has brought its part."""
        with torch.no_grad():
            self._tensor.copy_(self._transport.take(self._key))


def _random_state() -> tuple[Any, ...]:
    return torch.get_rng_state(), random.getstate()


def _set_random_state(state: tuple[Any, ...]) -> None:
    torch.set_rng_state(state[0])
    random.setstate(state[1])
