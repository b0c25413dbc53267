"""The coordinator: one per run, in the launching process. It decides who works, and hears how it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from stretto.communicate.control import Arrived, Connected, Lost, Peer
from stretto.communicate.control_server import ControlServer, Happening
from stretto.communicate.membership import Membership
from stretto.communicate.membership_action import (
    Action,
    DropAgent,
    End,
    Fail,
    Finish,
    Interrupt,
    Lose,
    Replacing,
    RequestStop,
    Restarting,
    StartWorkers,
    StopWorkers,
)
from stretto.communicate.membership_event import (
    AgentBeat,
    AgentJoined,
    AgentLost,
    StopAsked,
    WorkerBeat,
    WorkerDone,
    WorkerFailed,
    WorkerReady,
)
from stretto.communicate.membership_event import Event as GroupEvent
from stretto.communicate.messages import (
    Assignment,
    Beat,
    Done,
    Failed,
    Leave,
    LedgerBegin,
    LedgerUse,
    Message,
    Prepared,
    Ready,
    Refused,
    Report,
    Start,
    StopTraining,
    StopWorker,
    StoreRequest,
    Welcome,
)
from stretto.communicate.rendezvous import Board, Letters
from stretto.errors import Interrupted, SeatFailed, WorkersLost
from stretto.observe.event import Event
from stretto.observe.sink import Sink
from stretto.roles.bookkeeper import Bookkeeper
from stretto.roles.roster import Roster
from stretto.roles.slots import Engine, Supervisor

POLL_S: Final = 0.1
FLUSH_S: Final = 10.0


Assign = Callable[[int, int, int], Assignment]


class Coordinator:
    """Drives one run, in one thread: connections, the engine, membership, the rendezvous board, the sinks.

    `assign(view, slot, attempt)` makes a worker's assignment. `run` returns the result of rank 0, or raises
    `SeatFailed` with the guilty seat's traceback, `WorkersLost`, or `Interrupted`; however it ends, no process, port or
    thread of the run is left.
    """

    def __init__(
        self,
        *,
        server: ControlServer,
        engine: Engine,
        supervisor: Supervisor,
        membership: Membership,
        assign: Assign,
        sinks: Sequence[Sink] = (),
        preload: tuple[str, ...] = (),
        ledger: Path | None = None,
    ) -> None:
        self._server = server
        self._engine = engine
        self._supervisor = supervisor
        self._membership = membership
        self._assign = assign
        self._sinks = sinks
        self._preload = preload
        self._board = Board()
        self._roster = Roster(server)
        self._books = Bookkeeper(ledger, membership.rank_of, lambda words: self._emit("warning", message=words))
        self._end: End | None = None
        self._interruptions: list[str] = []
        self._heeded = 0
        self._begun_view = 0

    def run(self) -> dict[str, Any]:
        """Bring the run to its end and return the result of rank 0."""
        try:
            self._engine.open(self._server.address, self._server.key, self._server.let_go)
            while self._end is None:
                self._turn()
            return self._conclude(self._end)
        finally:
            self._close()

    def interrupt(self, reason: str = "interrupted") -> None:
        """Stop: the first call lets the workers save and leave, a second one ends everything at once.

        Made to be called from a signal handler or another thread.
        """
        self._interruptions.append(reason)
        self._server.wake()

    def _turn(self) -> None:
        self._supervise(time.monotonic())
        for happening in self._server.poll(POLL_S):
            self._on_happening(happening)
        now_s = time.monotonic()
        self._post(self._board.on_tick(now_s))
        self._post(self._books.on_tick(now_s))
        self._obey(self._membership.on_tick(now_s))
        self._heed_interruptions(now_s)

    def _on_happening(self, happening: Happening) -> None:
        is_agent = happening.peer.hello.role == "agent"
        match happening:
            case Connected():
                (self._agent_connected if is_agent else self._worker_connected)(happening.peer)
            case Lost():
                (self._agent_lost if is_agent else self._worker_lost)(happening.peer, happening.reason)
            case Arrived() if self._roster.has(happening.peer):
                (self._agent_said if is_agent else self._worker_said)(happening.peer, happening.message)

    def _agent_connected(self, peer: Peer) -> None:
        slot = peer.hello.slot
        if slot in self._roster.agents:
            self._roster.drop(slot)
            self._tell(AgentLost(slot=slot, reason="another agent came for its slot"))
        self._roster.enter(peer)
        self._server.send(peer, Welcome(preload=self._preload))

    def _agent_lost(self, peer: Peer, reason: str) -> None:
        if self._roster.remove(peer):
            self._roster.drop(peer.hello.slot)
            self._tell(AgentLost(slot=peer.hello.slot, reason=reason))

    def _agent_said(self, peer: Peer, message: Message) -> None:
        slot = peer.hello.slot
        match message:
            case Prepared():
                self._tell(AgentJoined(slot=slot))
            case Beat():
                self._tell(
                    AgentBeat(
                        slot=slot,
                        view=message.view,
                        running=message.running,
                        code=message.code,
                        attempt=message.attempt,
                    )
                )

    def _worker_connected(self, peer: Peer) -> None:
        hello = peer.hello
        present = self._membership.accepts(hello.view) and self._membership.rank_of(hello.slot) is not None
        if not present or hello.attempt != self._membership.attempt_of(hello.slot):
            self._server.send(peer, Refused(reason=f"view {hello.view} is over"))
            self._server.drop(peer)
            return
        self._roster.enter(peer)
        self._tell(WorkerBeat(view=hello.view, slot=hello.slot, attempt=hello.attempt))

    def _worker_lost(self, peer: Peer, _reason: str) -> None:
        self._board.forget(peer)
        self._roster.remove(peer)

    def _worker_said(self, peer: Peer, message: Message) -> None:
        view, slot, attempt = peer.hello.view, peer.hello.slot, peer.hello.attempt
        if not self._membership.accepts(view) or attempt != self._membership.attempt_of(slot):
            return
        self._tell(WorkerBeat(view=view, slot=slot, attempt=attempt))
        match message:
            case Ready():
                self._tell(WorkerReady(view=view, slot=slot, attempt=attempt))
                self._emit("worker_ready", seat=self._membership.rank_of(slot), view=view)
            case Report():
                self._books.on_event(message.event)
                self._write(message.event)
            case Done():
                self._tell(WorkerDone(view=view, slot=slot, result=message.result, attempt=attempt))
            case Failed():
                self._tell(_failure(peer, message))
            case LedgerBegin() | LedgerUse():
                self._post(self._books.on_request(peer, message, time.monotonic()))
            case request if isinstance(request, StoreRequest):
                self._post(self._board.on_request(peer, request, time.monotonic()))

    def _tell(self, event: GroupEvent) -> None:
        self._obey(self._membership.on_event(event, time.monotonic()))

    def _post(self, letters: Letters) -> None:
        for peer, answer in letters:
            self._server.send(peer, answer)

    def _obey(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case StartWorkers():
                    self._start_workers(action)
                case StopWorkers():
                    for slot in action.slots:
                        attempt = self._membership.attempt_of(slot)
                        self._roster.tell_agents((slot,), StopWorker(view=action.view, attempt=attempt))
                case RequestStop():
                    self._roster.tell_workers(action.slots, StopTraining(reason=action.reason, save=action.save))
                case DropAgent():
                    self._roster.drop(action.slot)
                case Restarting():
                    self._emit("restarted", view=action.view, reason=action.reason, left=action.left)
                case Replacing():
                    self._emit("replaced", seat=action.slot, view=action.view, reason=action.reason, left=action.left)
                case _:
                    self._end = action

    def _start_workers(self, action: StartWorkers) -> None:
        if action.view > self._begun_view:
            self._begun_view = action.view
            self._roster.forget_workers()
            self._board.begin(action.view)
            left = self._membership.restarts_left
            self._emit("view_started", view=action.view, workers=action.size, restarts_left=left)
        for slot, _rank in action.ranks:
            start = Start(assignment=self._assign(action.view, slot, self._membership.attempt_of(slot)))
            self._roster.tell_agents((slot,), start)

    def _heed_interruptions(self, now_s: float) -> None:
        while self._heeded < len(self._interruptions):
            reason, save = self._interruptions[self._heeded], self._heeded == 0
            self._heeded += 1
            self._emit("stopping", reason=reason, save=save)
            self._obey(self._membership.on_event(StopAsked(reason=reason, save=save), now_s))

    def _supervise(self, now_s: float) -> None:
        if self._end is not None:
            return
        decision = self._supervisor.decide(self._membership.joined, self._engine.poll(), now_s)
        for warning in decision.warnings:
            self._emit("warning", message=warning)
        if decision.give_up is not None:
            self._end = Lose(reason=decision.give_up)
            return
        self._engine.stop(decision.stop, 0.0)
        self._engine.start(decision.start)

    def _conclude(self, end: End) -> dict[str, Any]:
        match end:
            case Finish():
                self._books.end()
                return end.result
            case Fail():
                failure = end.failure
                told = {"role": end.role, "rank": end.rank, "cause": failure.cause, "message": failure.words}
                self._emit("failed", seat=failure.slot, **told)
                raise SeatFailed(
                    end.rank, end.role, f"{failure.cause}: {failure.words}", failure.trace, failure.exit_code
                )
            case Lose():
                self._emit("failed", cause="workers lost", message=end.reason)
                raise WorkersLost(end.reason)
            case Interrupt():
                raise Interrupted(end.reason)

    def _close(self) -> None:
        """End the agents: with time to finish when all is well, else at once."""
        try:
            grace_s = FLUSH_S if isinstance(self._end, Finish) else 0.0
            self._roster.tell_workers(self._roster.workers, StopTraining(reason="the training is over"))
            self._roster.tell_agents(self._roster.agents, Leave(grace_s=grace_s))
            deadline_s = time.monotonic() + grace_s + 1.0
            while self._roster.agents and time.monotonic() < deadline_s:
                for happening in self._server.poll(POLL_S):
                    if isinstance(happening, Lost):
                        self._roster.remove(happening.peer)
        finally:
            self._server.close()
            self._engine.close()
            self._books.close()

    def _emit(self, kind: str, *, seat: int | None = None, **values: Any) -> None:
        self._write(Event(kind=kind, seat=seat, values=values))

    def _write(self, event: Event) -> None:
        for sink in self._sinks:
            sink.write(event)


def _failure(peer: Peer, message: Failed) -> WorkerFailed:
    return WorkerFailed(
        view=peer.hello.view,
        slot=peer.hello.slot,
        attempt=peer.hello.attempt,
        cause=message.cause,
        words=message.words,
        trace=message.trace,
        collateral=message.collateral,
        exit_code=message.exit_code,
    )
