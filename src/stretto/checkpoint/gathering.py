"""When a checkpoint may be committed: a sans-I/O machine of the shards expected and arrived.

Events go in, actions come out; it holds no file, clock or socket, so that the same code runs in a real run and under
the virtual schedules of the tests. Every seat that is told the same comes to the same decision.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stretto.checkpoint.shard import Shard


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Save:
    """One attempt to save: the same step saved again after a restart is another save, in a later view."""

    view: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Every expected shard is on disk: commit them as one checkpoint."""

    save: Save
    shards: tuple[Shard, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """This save will never be complete: remove what was written of it, and say why."""

    save: Save
    reason: str


Action = Commit | Discard


@dataclass(slots=True)
class _Open:
    """A save under way; `seats` is None until it has begun here, while early shards may have arrived already."""

    seats: frozenset[int] | None = None
    shards: dict[int, Shard] = field(default_factory=dict)


class Gathering:
    """Collects the shards of several saves at once and says when each is complete.

    Messages may come late, twice, out of order, or before this seat has begun the save itself. A save is committed at
    most once, with exactly one shard of every seat it began with, all of that save; what speaks of an earlier view, or
    of a save that is over, changes nothing.

    >>> gathering = Gathering(view=1)
    >>> save = Save(view=1, step=120)
    >>> gathering.begin(save, seats=[0])
    []
    >>> shard = Shard(step=120, seat=0, file="seat-00000.safetensors", header_bytes=64, header_digest="", tensors=())
    >>> [type(action).__name__ for action in gathering.arrived(save, shard)]
    ['Commit']
    """

    def __init__(self, view: int = 0) -> None:
        self._view = view
        self._open: dict[Save, _Open] = {}
        self._over: set[Save] = set()

    def begin(self, save: Save, seats: Iterable[int]) -> list[Action]:
        """This seat has begun a save in which the given seats take part."""
        if not self._concerns(save):
            return []
        opened = self._open.setdefault(save, _Open())
        opened.seats = opened.seats or frozenset(seats)
        return self._decide(save)

    def arrived(self, save: Save, shard: Shard) -> list[Action]:
        """A seat says that its shard is on disk; saying it twice changes nothing, saying two things ends the save."""
        if not self._concerns(save):
            return []
        known = self._open.setdefault(save, _Open()).shards.setdefault(shard.seat, shard)
        if shard.step != save.step or known != shard:
            return self._end(save, f"seat {shard.seat} described two different shards of step {save.step}")
        return self._decide(save)

    def failed(self, save: Save, seat: int, reason: str) -> list[Action]:
        """A seat could not write its shard, so this save is given up; training and later saves go on."""
        return self._end(save, f"seat {seat}: {reason}") if self._concerns(save) else []

    def enter_view(self, view: int) -> list[Action]:
        """The membership has changed: saves of earlier views, which lost a seat, are given up."""
        self._view = max(self._view, view)
        stale = sorted(save for save in self._open if save.view < self._view)
        actions: list[Action] = [
            self._close(save, f"view {save.view} ended before every seat had written") for save in stale
        ]
        self._over = {save for save in self._over if save.view >= self._view}
        return actions

    def waiting_for(self, save: Save) -> frozenset[int]:
        """The seats whose shards are still missing, to be named when a save takes long."""
        opened = self._open.get(save, _Open())
        return (opened.seats or frozenset()) - opened.shards.keys()

    def _concerns(self, save: Save) -> bool:
        return save.view >= self._view and save not in self._over

    def _decide(self, save: Save) -> list[Action]:
        opened = self._open[save]
        if opened.seats is None or opened.seats - opened.shards.keys():
            return []
        strangers = opened.shards.keys() - opened.seats
        if strangers:
            return self._end(save, f"seats {sorted(strangers)} wrote a shard without taking part")
        del self._open[save]
        self._over.add(save)
        return [Commit(save=save, shards=tuple(opened.shards[seat] for seat in sorted(opened.seats)))]

    def _end(self, save: Save, reason: str) -> list[Action]:
        return [self._close(save, reason)]

    def _close(self, save: Save, reason: str) -> Discard:
        self._open.pop(save, None)
        self._over.add(save)
        return Discard(save=save, reason=reason)
