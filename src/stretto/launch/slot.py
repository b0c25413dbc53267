"""What an agent decides: when to start, end and report the worker of its slot. Sans I/O."""

from __future__ import annotations

from dataclasses import dataclass

from stretto.communicate.messages import Assignment, Beat, Leave, Message, Start, StopWorker


@dataclass(frozen=True, slots=True)
class StartWorker:
    """Start a worker with this assignment."""

    assignment: Assignment


@dataclass(frozen=True, slots=True)
class EndWorker:
    """Ask the worker to end, or with `force` kill it."""

    force: bool


@dataclass(frozen=True, slots=True)
class Say:
    """Send this to the coordinator."""

    message: Message


@dataclass(frozen=True, slots=True)
class Depart:
    """The agent's work is over."""


Action = StartWorker | EndWorker | Say | Depart


class Slot:
    """One slot: at most one worker at a time, and never one of a view and attempt that were started or stopped here."""

    def __init__(self) -> None:
        self.kill_at_s: float | None = None
        self._latest = (0, 0)  # view and attempt of the last worker
        self._fence = (0, 0)  # up to here no worker may start any more
        self._running = False
        self._code: int | None = None
        self._leaving = False

    def beat(self) -> Beat:
        """How the worker is, as the coordinator shall know it."""
        view, attempt = self._latest
        return Beat(view=view, attempt=attempt, running=self._running, code=self._code)

    def on_message(self, message: Message, now_s: float) -> list[Action]:
        """What to do because the coordinator said this; other messages are ignored."""
        match message:
            case Start():
                return self._start(message.assignment)
            case StopWorker():
                return self._stop(message, now_s)
            case Leave():
                self._leaving = True
                return self._let_end(message.grace_s, now_s) if self._running else [Depart()]
        return []

    def on_worker_ended(self, code: int) -> list[Action]:
        """What to do because the worker has ended with this code (negative: by that signal)."""
        self._running, self._code, self.kill_at_s = False, code, None
        self._latest = max(self._latest, self._fence)
        return [Say(self.beat()), *([Depart()] if self._leaving else [])]

    def on_tick(self, now_s: float) -> list[Action]:
        """What to do because time has passed."""
        if self.kill_at_s is None or now_s < self.kill_at_s:
            return []
        self.kill_at_s = None
        return [EndWorker(force=True)]

    def _start(self, assignment: Assignment) -> list[Action]:
        wanted = (assignment.view, assignment.attempt)
        if self._running or self._leaving or wanted <= max(self._latest, self._fence):
            return [Say(self.beat())]
        self._latest, self._running, self._code = wanted, True, None
        return [StartWorker(assignment), Say(self.beat())]

    def _stop(self, message: StopWorker, now_s: float) -> list[Action]:
        fence = (message.view, message.attempt)
        if fence < self._latest:
            return [Say(self.beat())]
        self._fence = max(self._fence, fence)
        if self._running:
            return [*([EndWorker(force=False)] if message.grace_s else []), *self._let_end(message.grace_s, now_s)]
        self._latest = self._fence
        return [Say(self.beat())]

    def _let_end(self, grace_s: float, now_s: float) -> list[Action]:
        self.kill_at_s = now_s + grace_s
        return self.on_tick(now_s)
