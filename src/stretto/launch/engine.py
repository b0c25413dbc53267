"""The contract of every engine: run the agent's command in n slots, and no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from stretto.communicate.membership_event import SlotEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What an engine can do; the supervisor decides by it, and the engines' conformance test checks it."""

    add: bool
    """A slot can be started later, or again."""
    independent: bool
    """The death of one slot leaves the others alive."""
    self_heals: bool
    """The engine starts a dead slot again by itself."""
    gang: bool
    """All slots start, or none."""
    remote: bool
    """Slots may be on other hosts."""


class Engine(Protocol):
    """Starts agents in slots. It knows no ranks, no restarts and no torch; what it notices is a hint, never a verdict.

    The order of calls is `advertise`, `open`, any number of `start`, `poll` and `stop`, and `close`, which is called
    also when something went wrong before and leaves nothing behind: no process, no thread, no file.
    """

    @property
    def abilities(self) -> Abilities:
        """What this engine can do."""
        ...

    def advertise(self) -> str:
        """The address of this host as the slots see it; the coordinator listens there."""
        ...

    def open(self, address: tuple[str, int], key: bytes, let_go: Callable[[], None]) -> None:
        """Attach to whatever runs the slots; agents find the coordinator at `address` and prove themselves by `key`.

        An engine that forks this process calls `let_go` in the child, which closes the coordinator's sockets there.
        Raises `StrettoError` when the engine cannot work here.
        """
        ...

    def start(self, slots: Sequence[int]) -> None:
        """Start an agent in each of these slots, without waiting for it."""
        ...

    def poll(self) -> list[SlotEnded]:
        """The slots that have ended since the last call, without waiting."""
        ...

    def stop(self, slots: Sequence[int], grace_s: float) -> None:
        """Give these slots `grace_s` to end by themselves, then end them; returns when they have ended."""
        ...

    def capacity(self) -> int | None:
        """How many more slots could start now; None when the engine sets no limit."""
        ...

    def command(self, slots: Sequence[int]) -> list[list[str]]:
        """For each slot exactly what would be executed, for a person to read before anything starts."""
        ...

    def close(self) -> None:
        """End everything that is left, at once; safe to call twice."""
        ...
