"""What is known of each member of the group: its agent, its worker, and what is suspected of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from stretto.communicate.membership_event import WorkerFailed


@dataclass(slots=True)
class Agent:
    """`cleared` is the last (view, attempt) of which this agent surely has no worker any more, and will start none."""

    heard_s: float
    cleared: tuple[int, int]


class State(enum.Enum):
    """How far a worker is."""

    STARTING = "starting"
    RUNNING = "running"
    READY = "ready"
    DONE = "done"
    FAILED = "failed"
    GONE = "gone"


@dataclass(slots=True)
class Worker:
    """A worker of the present view; it `acts` as long as no last word or end of it is known.

    One that does not train is replaced by another attempt when it is lost, and the view goes on.
    """

    rank: int
    heard_s: float
    state: State = State.STARTING
    result: dict[str, Any] = field(default_factory=dict)
    trains: bool = True
    attempt: int = 0

    @property
    def acts(self) -> bool:
        return self.state in (State.STARTING, State.RUNNING, State.READY)


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Something went wrong on a slot; at `due_s` it is acted upon, unless the root cause has shown elsewhere."""

    due_s: float
    reason: str
    failure: WorkerFailed | None = None
