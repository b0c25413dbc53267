"""The contract of a place where checkpoints are kept, so that training need not know which one it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from stretto.checkpoint.shard import Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """One good checkpoint: every seat's state, the values of the run, and what was passed over on the way and why."""

    step: int
    states: dict[int, Any]
    values: Any
    damages: tuple[str, ...] = ()


class Store(Protocol):
    """Keeps the checkpoints of one run; what is committed is whole, whatever is killed at whatever instant.

    Every seat writes its own shard; one seat collects the descriptions and commits, and only then the step exists.
    Every method that fails raises CheckpointError with the file and the numbers; what was committed before stays.
    """

    def clean(self) -> None:
        """Remove what a killed run left half done; called by one seat before any seat writes."""
        ...

    def write_shard(self, step: int, seat: int, state: Any) -> Shard:
        """Write one seat's state where `commit` will find it, surely on disk when this returns."""
        ...

    def commit(self, step: int, shards: Sequence[Shard], values: Any) -> None:
        """Make the shards of a step, all of them, one checkpoint; one of the same step that existed gives way to it."""
        ...

    def discard(self, step: int) -> None:
        """Remove what was written for a step that will not be committed; a committed one of that step stays."""
        ...

    def steps(self) -> list[int]:
        """The committed steps, oldest first; whether they can still be read is known after `load`."""
        ...

    def load(self, step: int | None = None) -> Loaded:
        """The checkpoint of a step, or the newest good one: damaged ones are passed over and named in `damages`."""
        ...

    def delete(self, step: int) -> None:
        """Remove a committed step; a kill on the way leaves either the whole of it or nothing that looks like it."""
        ...
