"""What the coordinator needs of the launch layer, which it may not import: an engine, and who decides about slots."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from stretto.communicate.membership_event import SlotEnded


class Engine(Protocol):
    """Runs agents in slots; `stretto.launch.engine` says what each of these does."""

    def open(self, address: tuple[str, int], key: bytes, let_go: Callable[[], None]) -> None: ...
    def start(self, slots: Sequence[int]) -> None: ...
    def poll(self) -> list[SlotEnded]: ...
    def stop(self, slots: Sequence[int], grace_s: float) -> None: ...
    def close(self) -> None: ...


class Decision(Protocol):
    """What a supervisor wants done."""

    @property
    def start(self) -> tuple[int, ...]: ...
    @property
    def stop(self) -> tuple[int, ...]: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def give_up(self) -> str | None: ...


class Supervisor(Protocol):
    """Decides which slots to start and to stop."""

    def decide(self, joined: Collection[int], ended: Sequence[SlotEnded], now_s: float) -> Decision: ...
