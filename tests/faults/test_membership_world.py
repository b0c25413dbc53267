"""Membership in a hostile world: thousands of seeded runs with kills, freezes, partitions and lost messages."""

from __future__ import annotations

import signal
from dataclasses import replace
from functools import partial

import pytest
from world import Link, World, explore

from stretto.communicate.membership import Membership, Patience, Phase
from stretto.communicate.membership_action import (
    DropAgent,
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
    SlotEnded,
    StopAsked,
    WorkerBeat,
    WorkerDone,
    WorkerFailed,
)
from stretto.communicate.messages import Assignment, Beat, Start, StopTraining, StopWorker
from stretto.launch.engine import Abilities
from stretto.launch.slot import EndWorker, Say, Slot, StartWorker
from stretto.launch.supervisor import Supervisor

PATIENCE = Patience(silence_s=5.0, root_cause_s=0.25, settle_s=1.0, repeat_s=1.0)
ABILITIES = Abilities(add=True, independent=True, self_heals=False, gang=False, remote=False)
FAULTS_END_S = 15.0
EVERYTHING_ENDS_S = 120.0


class SimulatedWorker:
    """Works for a while and is done, or fails: by mistake, or because a peer has gone."""

    def __init__(self, agent: SimulatedAgent, view: int, attempt: int) -> None:
        self.agent, self.view, self.alive, self.frozen = agent, view, True, False
        self.place = {"view": view, "slot": agent.slot, "attempt": attempt}
        self.said_last_word = False
        world = agent.run.world
        world.after(world.chance.uniform(0.0, 0.3), self._begin)

    def _begin(self) -> None:
        if not self.alive:
            return
        run = self.agent.run
        self.say(WorkerBeat(**self.place))
        run.world.every(1.0, self._beat)
        if self.agent.slot < run.trainers:  # those that serve have no end of their own
            run.world.after(run.work_s * run.world.chance.uniform(0.9, 1.1), self._finish)

    def _beat(self) -> bool:
        self.say(WorkerBeat(**self.place))
        return self.alive

    def _finish(self) -> None:
        if self.alive and not self.frozen and not self.said_last_word:
            self.end(WorkerDone(**self.place, result={"view": self.view}), 0)

    def fail(self, *, collateral: bool) -> None:
        if self.alive and not self.frozen and not self.said_last_word:
            words = {"cause": "c", "words": "w", "trace": "t", "collateral": collateral}
            self.agent.run.mistakes += [] if collateral else [self.view]
            self.end(WorkerFailed(**self.place, **words), 1)

    def end(self, last_word, code: int) -> None:
        self.say(last_word)
        self.said_last_word = True
        self.agent.run.world.after(0.01, lambda: self.die(code))

    def die(self, code: int) -> None:
        if self.alive:
            self.alive = False
            self.agent.worker_ended(self, code)

    def say(self, event) -> None:
        if self.alive and not self.frozen:
            self.agent.run.from_worker(self, event)


class SimulatedAgent:
    """One incarnation of an agent: the real slot machine, a simulated process and connection."""

    def __init__(self, run: Run, slot: int) -> None:
        self.run, self.slot, self.alive, self.frozen, self.joined = run, slot, True, False, False
        self.machine = Slot()
        self.worker: SimulatedWorker | None = None
        self.highest = (0, 0)
        self.up = Link(run.world, lambda message: run.from_agent(self, message), **run.weather)
        self.down = Link(run.world, self._hear, **run.weather)
        run.world.after(run.world.chance.uniform(0.1, 1.0), self._join)

    def _join(self) -> None:
        if self.alive:
            self.joined = True
            self.run.agent_joined(self)
            self.run.world.every(1.0, self._beat)

    def _beat(self) -> bool:
        if self.alive and not self.frozen:
            self.up.send(self.machine.beat())
        self._obey(self.machine.on_tick(self.run.world.now_s))
        return self.alive

    def _hear(self, message) -> None:
        if self.alive and not self.frozen:
            self._obey(self.machine.on_message(message, self.run.world.now_s))

    def worker_ended(self, worker: SimulatedWorker, code: int) -> None:
        if self.worker is worker:
            self.worker = None
            self._obey(self.machine.on_worker_ended(code))
        self.run.peers_notice(worker)

    def _obey(self, actions) -> None:
        for action in actions:
            match action:
                case Say():
                    if not self.frozen:
                        self.up.send(action.message)
                case StartWorker():
                    assert self.worker is None, "two workers in one slot"
                    view, attempt = action.assignment.view, action.assignment.attempt
                    assert (view, attempt) > self.highest, "an attempt was started twice in one slot"
                    assert not attempt or self.slot >= self.run.trainers, "a seat that trains was filled again"
                    self.highest = (view, attempt)
                    obeyed = self.joined and self.run.agents[self.slot] is self
                    assert not obeyed or view == self.run.views[-1], "a worker of an old view began"
                    self.worker = SimulatedWorker(self, view, attempt)
                case EndWorker() if self.worker is not None:
                    self.run.world.after(0.02, partial(self.worker.die, -signal.SIGKILL))

    def die(self) -> None:
        if self.alive:
            self.alive = False
            self.up.cut()
            self.down.cut()
            if self.worker is not None:
                self.worker.alive = False
                self.run.peers_notice(self.worker)
            self.run.agent_died(self)


class Run:
    """The coordinator's part, as roles/coordinator.py plays it, with a checker in every place."""

    def __init__(self, world: World, membership: type[Membership], weather: dict) -> None:
        chance = world.chance
        self.world, self.weather = world, weather
        self.trainers, self.restarts = chance.randint(1, 5), chance.randint(0, 4)
        self.slots = self.trainers + chance.choice([0, 0, 1, 2])
        self.work_s = chance.uniform(0.5, 12.0)
        self.membership = membership(
            slots=self.slots, trainers=self.trainers, restarts=self.restarts, patience=PATIENCE
        )
        self.supervisor = Supervisor(
            slots=self.slots, restarts=12, abilities=ABILITIES, warn_after_s=5.0, give_up_after_s=30.0
        )
        self.agents: dict[int, SimulatedAgent] = {}
        self.every_agent: list[SimulatedAgent] = []
        self.hints: list[SlotEnded] = []
        self.views: list[int] = []
        self.mistakes: list[int] = []
        self.restarted = self.replaced = 0
        self.ends: list = []
        self.interrupted = False

    def tell(self, event) -> None:
        fenced = self.membership.fenced
        obsolete = isinstance(event, WorkerBeat | WorkerDone | WorkerFailed) and (event.view, event.attempt) != (
            self.membership.view,
            self.membership.attempt_of(event.slot),
        )
        actions = self.membership.on_event(event, self.world.now_s)
        assert not obsolete or self.membership.fenced > fenced, "a worker of an old view was obeyed"
        self.obey(actions)

    def tick(self) -> bool:
        self.obey(self.membership.on_tick(self.world.now_s))
        hints, self.hints = self.hints, []
        decision = self.supervisor.decide(self.membership.joined, hints, self.world.now_s)
        if decision.give_up is not None and not self.ends:
            self.ends.append(Lose(reason=decision.give_up))
        for slot in decision.stop:
            if slot in self.agents:
                self.agents[slot].die()
        for slot in decision.start:
            self.agents[slot] = SimulatedAgent(self, slot)
            self.every_agent.append(self.agents[slot])
        return not self.ends

    def obey(self, actions) -> None:
        assert not (self.ends and actions), "something was decided after the end"
        for action in actions:
            match action:
                case StartWorkers():
                    self._start(action)
                case StopWorkers():
                    for slot in action.slots:
                        self._send((slot,), StopWorker(view=action.view, attempt=self.membership.attempt_of(slot)))
                case RequestStop():
                    self._send(action.slots, StopTraining(reason=action.reason))
                case DropAgent():
                    self._hang_up(action.slot)
                case Restarting() | Replacing():
                    self.replaced += isinstance(action, Replacing)
                    self.restarted += 1
                    assert self.restarted <= self.restarts, "more restarts than the budget"
                case _:
                    self._check_end(action)
                    self.ends.append(action)

    def _start(self, action: StartWorkers) -> None:
        if not self.views or action.view != self.views[-1]:
            assert not self.views or action.view > self.views[-1], "a view's number did not grow"
            self.views.append(action.view)
            for agent in self.every_agent:
                obeyed = agent.alive and agent.joined and agent.slot in self.membership.joined
                assert not (obeyed and agent.worker), "a view began while a worker of an old one was there"
            assert sorted(rank for _slot, rank in action.ranks) == list(range(self.slots)), "ranks are not unique"
        for slot, rank in action.ranks:
            attempt = self.membership.attempt_of(slot)
            place = {"view": action.view, "attempt": attempt, "slot": slot, "rank": rank, "size": action.size}
            assignment = Assignment(run_id="r", entry="e:e", **place)
            self._send((slot,), Start(assignment=assignment))

    def _send(self, slots, message) -> None:
        for slot in slots:
            if slot in self.agents:
                self.agents[slot].down.send(message)

    def _hang_up(self, slot: int) -> None:
        agent = self.agents[slot]
        agent.joined = False
        # What the agent hears of it takes as long as the network is broken.
        delay_s = self.world.chance.uniform(0.0, 8.0)
        self.world.after(delay_s, agent.die)

    def _check_end(self, action) -> None:
        match action:
            case Finish():
                assert action.result["view"] == self.membership.view, "the result of an old view was taken"
            case Fail():
                assert action.failure.view in self.mistakes, "a mistake was reported that nobody made"
            case Lose():
                assert self.restarted == self.restarts, "given up before the budget was used"
            case Interrupt():
                assert self.interrupted, "interrupted without being asked"

    def agent_joined(self, agent: SimulatedAgent) -> None:
        self.tell(AgentJoined(slot=agent.slot))

    def from_agent(self, agent: SimulatedAgent, beat: Beat) -> None:
        if agent.joined and self.agents[agent.slot] is agent and not self.ends:
            place = {"slot": agent.slot, "view": beat.view, "attempt": beat.attempt}
            self.tell(AgentBeat(**place, running=beat.running, code=beat.code))

    def from_worker(self, worker: SimulatedWorker, event) -> None:
        # A worker has a connection of its own, and even one of a lost agent may still be talking.
        link = Link(self.world, lambda message: self.ends or self.tell(message), **self.weather)
        link.send(event)

    def agent_died(self, agent: SimulatedAgent) -> None:
        def notice() -> None:
            if self.agents[agent.slot] is agent:
                self.hints.append(SlotEnded(slot=agent.slot, code=-9))
            if agent.joined and not self.ends:
                agent.joined = False
                self.tell(AgentLost(slot=agent.slot, reason="gone"))

        self.world.after(self.world.chance.uniform(0.0, 0.2), notice)

    def peers_notice(self, gone: SimulatedWorker) -> None:
        for agent in self.every_agent:
            peer = agent.worker
            serves = gone.agent.slot >= self.trainers or agent.slot >= self.trainers
            if peer is not None and peer.view == gone.view and not gone.said_last_word and not serves:
                self.world.after(self.world.chance.uniform(0.0, 0.5), lambda peer=peer: peer.fail(collateral=True))

    def plan_faults(self) -> None:
        for _ in range(self.world.chance.randint(0, 6)):
            fault = self.world.chance.choice(
                [
                    *(self._kill_worker, self._kill_worker, self._kill_agent, self._freeze_worker, self._freeze_agent),
                    *(self._block_up, self._block_down, self._mistake, self._interrupt),
                ]
            )
            self.world.after(self.world.chance.uniform(0.0, FAULTS_END_S), lambda fault=fault: self._strike(fault))

    def _strike(self, fault) -> None:
        living = [agent for agent in self.agents.values() if agent.alive]
        if living and not self.ends:
            fault(self.world.chance.choice(living))

    def _kill_worker(self, agent: SimulatedAgent) -> None:
        if agent.worker:
            agent.worker.die(-signal.SIGKILL)

    def _kill_agent(self, agent: SimulatedAgent) -> None:
        agent.die()

    def _freeze_worker(self, agent: SimulatedAgent) -> None:
        if agent.worker:
            agent.worker.frozen = True

    def _freeze_agent(self, agent: SimulatedAgent) -> None:
        agent.frozen = True

    def _block_up(self, agent: SimulatedAgent) -> None:
        agent.up.blocked = True
        self.world.after(self.world.chance.uniform(0.1, 10.0), agent.up.unblock)

    def _block_down(self, agent: SimulatedAgent) -> None:
        agent.down.blocked = True
        self.world.after(self.world.chance.uniform(0.1, 10.0), agent.down.unblock)

    def _mistake(self, agent: SimulatedAgent) -> None:
        if agent.worker:
            agent.worker.fail(collateral=False)

    def _interrupt(self, _agent: SimulatedAgent) -> None:
        self.interrupted = True
        self.tell(StopAsked(reason="Ctrl-C", save=self.world.happens(0.5)))


STREAMS: dict = {}
STORMS = {"drop": 0.05, "double": 0.1, "reorder": True, "delay_s": (0.001, 0.5)}


def tell_story(world: World, membership: type[Membership] = Membership, weather: dict = STREAMS) -> Run:
    run = Run(world, membership, weather)
    run.plan_faults()
    run.tick()
    world.every(0.25, run.tick)
    world.run(EVERYTHING_ENDS_S, done=lambda: bool(run.ends))
    assert run.ends, "no end was found long after the last fault"
    return run


def test_two_thousand_runs_over_connections_that_break():
    ends: dict[str, int] = {}
    replaced = 0

    def story(world: World) -> None:
        nonlocal replaced
        run = tell_story(world)
        replaced += run.replaced
        name = type(run.ends[0]).__name__
        ends[name] = ends.get(name, 0) + 1

    assert explore(story, range(2000)) == 2000
    assert replaced > 100, "hardly a seat that serves was filled again"
    assert min(ends.get(name, 0) for name in ("Finish", "Fail", "Lose", "Interrupt")) > 20, ends


def test_a_thousand_runs_over_links_that_lose_double_and_reorder():
    assert explore(lambda world: tell_story(world, weather=STORMS), range(1000)) == 1000


class Hasty(Membership):
    """Planted bug: does not wait until the workers of the old view have gone."""

    def _uncleared(self) -> tuple[int, ...]:
        return ()


class Gullible(Membership):
    """Planted bug: takes a beat from before the start as a sign that the worker has gone."""

    def _agent_beat(self, event: AgentBeat, now_s: float) -> list:
        if self.phase is Phase.FORMING and not event.running:
            event = replace(event, view=self.view, attempt=99)
        return super()._agent_beat(event, now_s)


class Credulous(Membership):
    """Planted bug: obeys workers of any view."""

    def accepts(self, view: int) -> bool:
        return True


class Spendthrift(Membership):
    """Planted bug: the budget is never used up."""

    def _lose_view(self, reason: str, now_s: float) -> list:
        self.restarts_left = 3
        return super()._lose_view(reason, now_s)


@pytest.mark.parametrize(
    ("bug", "complaint"),
    [
        (Hasty, "a view began while a worker of an old one was there"),
        (Gullible, "a worker of an old view began"),
        (Credulous, "a worker of an old view was obeyed|the result of an old view was taken"),
        (Spendthrift, "more restarts than the budget"),
    ],
)
def test_a_planted_bug_is_found_and_its_seed_is_named(bug, complaint):
    with pytest.raises(AssertionError, match=rf"^seed \d+: .*({complaint})"):
        explore(lambda world: tell_story(world, bug), range(2000))


def test_the_same_seed_tells_the_same_story():
    first, second = tell_story(World(7)), tell_story(World(7))
    assert (first.ends, first.views, first.world.now_s) == (second.ends, second.views, second.world.now_s)
