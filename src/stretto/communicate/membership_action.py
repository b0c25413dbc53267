"""What may have to be done about the group: the actions that `Membership` answers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stretto.communicate.membership_event import WorkerFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class StartWorkers:
    """Start a worker of this view on each of these slots; `ranks` are pairs of slot and rank, of `size` in all."""

    view: int
    ranks: tuple[tuple[int, int], ...]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StopWorkers:
    """End the workers of this view and of earlier ones on these slots."""

    view: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStop:
    """Ask the workers of this view on these slots to finish the step and leave."""

    view: int
    slots: tuple[int, ...]
    reason: str
    save: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DropAgent:
    """This slot's agent is no longer counted on: hang up on it."""

    slot: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarting:
    """The view is over because of `reason`; `left` restarts remain."""

    view: int
    reason: str
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacing:
    """A seat that does not train was lost because of `reason`; the view goes on and the seat is filled again."""

    view: int
    slot: int
    reason: str
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Everybody is done; this is the result of rank 0."""

    result: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """A seat's code raised, this one first; `rank` is its number among those of its role."""

    rank: int
    failure: WorkerFailed
    role: str = "worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lose:
    """Workers were lost more often than the budget allows."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """The run ends because it was asked to, without a result."""

    reason: str


End = Finish | Fail | Lose | Interrupt
Action = StartWorkers | StopWorkers | RequestStop | DropAgent | Restarting | Replacing | End
