"""What may happen to the group: the events that `Membership` is told of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentJoined:
    """A slot's agent is there, prepared, and has no worker."""

    slot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLost:
    """A slot's agent has gone, and its worker with it."""

    slot: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBeat:
    """A slot's agent lives and tells how its worker is: of which view and attempt, running or ended with which code.

    `running=False` also says that the agent will start no worker of this view, up to this attempt, any more.
    """

    slot: int
    view: int
    running: bool
    code: int | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBeat:
    """A worker was heard, by whatever message."""

    view: int
    slot: int
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReady:
    """A worker has met its peers."""

    view: int
    slot: int
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDone:
    """A worker has finished; only this is success."""

    view: int
    slot: int
    result: dict[str, Any]
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFailed:
    """A worker's code raised; `collateral` when it only noticed that a peer has gone."""

    view: int
    slot: int
    cause: str
    words: str
    trace: str
    collateral: bool = False
    exit_code: int = 3
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked:
    """Somebody wants the training to stop: after saving, or at once."""

    reason: str
    save: bool = True


Event = AgentJoined | AgentLost | AgentBeat | WorkerBeat | WorkerReady | WorkerDone | WorkerFailed | StopAsked


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotEnded:
    """An engine's hint, which `Membership` does not believe but the supervisor uses: a slot's process has ended."""

    slot: int
    code: int | None = None
