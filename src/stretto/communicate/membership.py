"""Who belongs to the group at this moment: slots, views, ranks, and what happens when somebody dies. Sans I/O.

A *slot* is a place where an agent runs; a *view* is one numbered group of workers, one per slot. The number only grows,
and a new view begins only when no agent can have a worker of an old one. `Membership` is told what happened and what
time it is, and says what to do; it has no socket, clock or thread, so the same code runs in the coordinator and in a
simulated world.

The policy is *gang*: a worker that dies by a signal, or an agent that is lost, means a new view for all, from the last
checkpoint, while the budget of restarts lasts. An exception in a worker's code ends the run with that worker's own
traceback: a restart would repeat it. When one worker dies the others fail too, so a worker that only noticed a peer's
loss is given a moment for the root cause to show. Messages of a view that is over are ignored. Whatever must arrive is
said again on a tick until its effect is seen.

Behind the slots that train there may be others that serve them: samplers. One of these that dies is *independent*: it
is replaced by another attempt in the same view, from the same budget, while all others go on.
"""

from __future__ import annotations

import enum
import signal
from dataclasses import dataclass, replace

from stretto.communicate.member import Agent, State, Suspicion, Worker
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
    Event,
    StopAsked,
    WorkerBeat,
    WorkerDone,
    WorkerFailed,
    WorkerReady,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long `Membership` waits for what."""

    silence_s: float = 30.0
    root_cause_s: float = 0.25
    settle_s: float = 3.0
    repeat_s: float = 2.0
    absence_s: float = 1.0


class Phase(enum.Enum):
    """Where the group stands."""

    FORMING = "forming"
    RUNNING = "running"
    ENDED = "ended"


class Membership:
    """The machine: events and the time in, actions out. `view` is the number of the view that acts, or acted last.

    The first `trainers` of the slots train; without that number all do.
    """

    def __init__(
        self, *, slots: int, restarts: int, trainers: int | None = None, patience: Patience | None = None
    ) -> None:
        self.view = 0
        self.phase = Phase.FORMING
        self.restarts_left = restarts
        self.fenced = 0
        self._size = slots
        self._trainers = slots if trainers is None else trainers
        self._patience = patience or Patience()
        self._agents: dict[int, Agent] = {}
        self._workers: dict[int, Worker] = {}
        self._suspicions: dict[int, Suspicion] = {}
        self._stop: StopAsked | None = None
        self._repeated_s = 0.0
        self._looked_s: float | None = None

    @property
    def joined(self) -> frozenset[int]:
        """The slots whose agents are there."""
        return frozenset(self._agents)

    @property
    def missing(self) -> tuple[int, ...]:
        """The slots whose agents are not there."""
        return tuple(slot for slot in range(self._size) if slot not in self._agents)

    def accepts(self, view: int) -> bool:
        """Whether a worker of this view may speak."""
        return self.phase is Phase.RUNNING and view == self.view

    def rank_of(self, slot: int) -> int | None:
        """The rank that a slot's worker has in this view, None when it has none."""
        worker = self._workers.get(slot)
        return None if worker is None else worker.rank

    def attempt_of(self, slot: int) -> int:
        """Which attempt at filling this slot's seat is the present one of this view."""
        worker = self._workers.get(slot)
        return 0 if worker is None else worker.attempt

    def on_event(self, event: Event, now_s: float) -> list[Action]:
        """What to do because of this event."""
        if self.phase is Phase.ENDED:
            return []
        match event:
            case AgentJoined():
                return self._agent_joined(event, now_s)
            case AgentLost():
                return self._agent_lost(event, now_s)
            case AgentBeat():
                return self._agent_beat(event, now_s)
            case StopAsked():
                return self._stop_asked(event)
        worker = self._workers.get(event.slot)
        if worker is None or not self.accepts(event.view) or event.attempt != worker.attempt:
            self.fenced += 1
            return []
        worker.heard_s = max(worker.heard_s, now_s)
        return self._of_worker(event, worker, now_s)

    def on_tick(self, now_s: float) -> list[Action]:
        """What to do because time has passed; meant to be called several times a second.

        A longer time between two calls was an absence of whoever calls (a machine asleep, a process stopped by Ctrl-Z):
        nobody could be heard then, so it counts as nobody's silence.
        """
        if self.phase is Phase.ENDED:
            return []
        self._look(now_s)
        actions = self._act_on_suspicions(now_s)
        actions += self._drop_silent(now_s)
        if now_s - self._repeated_s >= self._patience.repeat_s:
            self._repeated_s = now_s
            actions += self._say_again()
        return actions

    def _agent_joined(self, event: AgentJoined, now_s: float) -> list[Action]:
        if not 0 <= event.slot < self._size:
            return []
        actions: list[Action] = []
        if event.slot in self._agents:
            actions += self._agent_lost(AgentLost(slot=event.slot, reason="it came back as a new process"), now_s)
        # A new agent has no worker, but while a view acts it is about to be given one: the present attempt.
        latest = self.attempt_of(event.slot) - (self.phase is Phase.RUNNING)
        self._agents[event.slot] = Agent(heard_s=now_s, cleared=(self.view, latest))
        return actions + self._form(now_s) + self._refill(event.slot)

    def _agent_lost(self, event: AgentLost, now_s: float) -> list[Action]:
        if self._agents.pop(event.slot, None) is None:
            return []
        worker = self._workers.get(event.slot)
        if self.phase is not Phase.RUNNING or worker is None or worker.state is State.DONE:
            return self._form(now_s)
        if not worker.trains and worker.state is State.STARTING:
            self._workers[event.slot] = replace(worker, attempt=worker.attempt + 1)
            return []
        return self._lose_worker(event.slot, f"the agent of {self._named(event.slot)} was lost: {event.reason}", now_s)

    def _agent_beat(self, event: AgentBeat, now_s: float) -> list[Action]:
        agent = self._agents.get(event.slot)
        if agent is None:
            return []
        agent.heard_s = max(agent.heard_s, now_s)
        if not event.running:
            agent.cleared = max(agent.cleared, (event.view, event.attempt))
        if self.phase is Phase.FORMING:
            return self._form(now_s)
        worker = self._workers.get(event.slot)
        if worker is None or (event.view, event.attempt) != (self.view, worker.attempt):
            return []
        return self._worker_started(worker, now_s) if event.running else self._worker_ended(event, worker, now_s)

    def _of_worker(self, event: Event, worker: Worker, now_s: float) -> list[Action]:
        match event:
            case WorkerDone():
                return self._worker_done(event, worker)
            case WorkerFailed():
                return self._worker_failed(event, worker, now_s)
            case WorkerReady() if worker.acts:
                worker.state = State.READY
            case WorkerBeat() if worker.state is State.STARTING:
                return self._worker_started(worker, now_s)
        return []

    def _worker_started(self, worker: Worker, now_s: float) -> list[Action]:
        if worker.state is State.STARTING:
            worker.state, worker.heard_s = State.RUNNING, now_s  # its silence begins here, not when it was asked for
            return self._request_stop()
        return []

    def _worker_done(self, event: WorkerDone, worker: Worker) -> list[Action]:
        worker.state, worker.result = State.DONE, event.result
        self._suspicions.pop(event.slot, None)
        if any(each.trains and each.state is not State.DONE for each in self._workers.values()):
            return []
        return self._end(Finish(result=next(each.result for each in self._workers.values() if each.rank == 0)))

    def _worker_failed(self, event: WorkerFailed, worker: Worker, now_s: float) -> list[Action]:
        if worker.state in (State.DONE, State.FAILED):
            return []
        worker.state = State.FAILED
        if event.collateral:
            reason = f"{self._named(event.slot)} lost its peers: {event.words}"
            self._suspicions[event.slot] = Suspicion(now_s + self._patience.settle_s, reason)
        else:
            self._suspicions[event.slot] = Suspicion(now_s + self._patience.root_cause_s, event.words, event)
        return []

    def _worker_ended(self, event: AgentBeat, worker: Worker, now_s: float) -> list[Action]:
        if not worker.acts:
            return []
        code = 0 if event.code is None else event.code
        if code < 0 and not (code == -signal.SIGABRT and self._first_failure()):
            return self._lose_worker(
                event.slot, f"{self._named(event.slot)} was killed by {_signal_name(-code)}", now_s
            )
        worker.state = State.GONE
        reason = f"{self._named(event.slot)} ended with exit code {code} without a word"
        self._suspicions.setdefault(event.slot, Suspicion(now_s + self._patience.settle_s, reason))
        return []

    def _form(self, now_s: float) -> list[Action]:
        """Begin the next view, if everybody is there and nobody still has a worker."""
        if self.phase is not Phase.FORMING or self.missing or self._uncleared():
            return []
        self.view += 1
        self.phase = Phase.RUNNING
        seats = enumerate(sorted(self._agents))
        self._workers = {slot: Worker(rank, now_s, trains=rank < self._trainers) for rank, slot in seats}
        self._suspicions.clear()
        self._repeated_s = now_s
        return [self._start(tuple(self._workers))]

    def _start(self, slots: tuple[int, ...]) -> StartWorkers:
        ranks = tuple((slot, self._workers[slot].rank) for slot in slots)
        return StartWorkers(view=self.view, ranks=ranks, size=min(self._trainers, len(self._workers)))

    def _lose_worker(self, slot: int, reason: str, now_s: float) -> list[Action]:
        """A worker is no more: the view is over with it, unless it only served and can be replaced."""
        worker = self._workers[slot]
        worker.state = State.GONE
        if worker.trains or self.restarts_left == 0:
            return self._lose_view(reason, now_s)
        self.restarts_left -= 1
        self._suspicions.pop(slot, None)
        self._workers[slot] = Worker(worker.rank, now_s, trains=False, attempt=worker.attempt + 1)
        return [Replacing(view=self.view, slot=slot, reason=reason, left=self.restarts_left), *self._refill(slot)]

    def _refill(self, slot: int) -> list[Action]:
        """Start a serving seat's next attempt, if its agent is there."""
        worker = self._workers.get(slot)
        if self.phase is not Phase.RUNNING or worker is None or slot not in self._agents:
            return []
        return [self._start((slot,))] if worker.attempt and worker.state is State.STARTING else []

    def _lose_view(self, reason: str, now_s: float) -> list[Action]:
        """The view is over; start over with a new one, or end the run."""
        if self._stop is not None:
            return self._end(Interrupt(reason=f"{reason} while the run was stopping"))
        if self.restarts_left == 0:
            return self._end(Lose(reason=f"{reason}, and no restarts are left (cluster.restarts)"))
        self.restarts_left -= 1
        self.phase = Phase.FORMING
        self._repeated_s = now_s
        restarting = Restarting(view=self.view, reason=reason, left=self.restarts_left)
        return [restarting, *self._clear(), *self._form(now_s)]

    def _uncleared(self) -> tuple[int, ...]:
        agents = self._agents.items()
        return tuple(slot for slot, agent in agents if agent.cleared < (self.view, self.attempt_of(slot)))

    def _clear(self) -> list[Action]:
        slots = self._uncleared()
        return [StopWorkers(view=self.view, slots=slots)] if slots else []

    def _end(self, end: End) -> list[Action]:
        self.phase = Phase.ENDED
        return [end]

    def _stop_asked(self, event: StopAsked) -> list[Action]:
        if not event.save or self.phase is Phase.FORMING:
            return self._end(Interrupt(reason=event.reason))
        self._stop = event
        return self._request_stop()

    def _request_stop(self) -> list[Action]:
        slots = tuple(slot for slot, worker in self._workers.items() if worker.acts and worker.trains)
        if self._stop is None or not slots or self.phase is not Phase.RUNNING:
            return []
        return [RequestStop(view=self.view, slots=slots, reason=self._stop.reason, save=self._stop.save)]

    def _first_failure(self) -> WorkerFailed | None:
        return next((each.failure for each in self._suspicions.values() if each.failure is not None), None)

    def _act_on_suspicions(self, now_s: float) -> list[Action]:
        due = [each for each in self._suspicions.values() if each.due_s <= now_s]
        if self.phase is not Phase.RUNNING or not due:
            return []
        failure = self._first_failure()
        if failure is None:
            slot = next(slot for slot, each in self._suspicions.items() if each is due[0])
            return self._lose_worker(slot, due[0].reason, now_s)
        role, rank = self._seat(failure.slot)
        return self._end(Fail(rank=rank, failure=failure, role=role))

    def _look(self, now_s: float) -> None:
        away_s = now_s - (now_s if self._looked_s is None else self._looked_s)
        self._looked_s = now_s
        if away_s > self._patience.absence_s:
            everybody: list[Agent | Worker] = [*self._agents.values(), *self._workers.values()]
            for each in everybody:
                each.heard_s = min(each.heard_s + away_s, now_s)

    def _drop_silent(self, now_s: float) -> list[Action]:
        before_s = now_s - self._patience.silence_s
        actions: list[Action] = []
        for slot, agent in list(self._agents.items()):
            if agent.heard_s < before_s:
                reason = f"silent for {self._patience.silence_s:g} s"
                actions += [DropAgent(slot=slot, reason=reason)]
                actions += self._agent_lost(AgentLost(slot=slot, reason=reason), now_s)
        if self.phase is Phase.RUNNING:
            for slot, worker in self._workers.items():
                if worker.acts and worker.heard_s < before_s and worker.trains:
                    silent = f"{self._named(slot)} has been silent for {self._patience.silence_s:g} s"
                    return [*actions, *self._lose_view(silent, now_s)]
        return actions + self._drop_agents_of_silent(before_s, now_s)

    def _drop_agents_of_silent(self, before_s: float, now_s: float) -> list[Action]:
        """A serving seat that is silent is ended by ending its agent, which comes back and fills it again."""
        reason = f"silent for {self._patience.silence_s:g} s"
        actions: list[Action] = []
        for slot, worker in list(self._workers.items()):
            started = worker.acts and worker.state is not State.STARTING
            if self.phase is Phase.RUNNING and not worker.trains and started and worker.heard_s < before_s:
                actions += [DropAgent(slot=slot, reason=reason)]
                actions += self._agent_lost(AgentLost(slot=slot, reason=reason), now_s)
        return actions

    def _say_again(self) -> list[Action]:
        if self.phase is Phase.FORMING:
            return self._clear()
        if self.phase is not Phase.RUNNING:
            return []
        starting = (slot for slot, each in self._workers.items() if each.state is State.STARTING)
        silent = tuple(slot for slot in starting if slot in self._agents)
        return [*([self._start(silent)] if silent else []), *self._request_stop()]

    def _seat(self, slot: int) -> tuple[str, int]:
        rank = self._workers[slot].rank
        return ("worker", rank) if rank < self._trainers else ("sampler", rank - self._trainers)

    def _named(self, slot: int) -> str:
        role, rank = self._seat(slot)
        return f"{role} {rank} of {self._trainers if role == 'worker' else self._size - self._trainers}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
