"""Membership, one decision at a time."""

from __future__ import annotations

import signal

import pytest

from stretto.communicate.membership import Membership, Patience, Phase
from stretto.communicate.membership_action import (
    DropAgent,
    Fail,
    Finish,
    Interrupt,
    Lose,
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


class Group:
    """A membership of three slots, and a clock."""

    def __init__(self, restarts=3):
        self.machine = Membership(slots=3, restarts=restarts, patience=Patience(silence_s=10.0))
        self.now_s = 0.0

    def tell(self, *events):
        return [action for event in events for action in self.machine.on_event(event, self.now_s)]

    def wait(self, seconds):
        """Let time pass and look on, twice a second."""
        end_s, actions = self.now_s + seconds, self.machine.on_tick(self.now_s)
        while self.now_s < end_s:
            self.now_s = min(self.now_s + 0.5, end_s)
            actions += self.machine.on_tick(self.now_s)
        return actions

    def join(self):
        return self.tell(*(AgentJoined(slot=slot) for slot in range(3)))

    def cleared(self, view, *slots):
        return self.tell(*(AgentBeat(slot=slot, view=view, running=False, code=-9) for slot in slots))

    def die(self, slot, code=-signal.SIGKILL, view=1):
        return self.tell(AgentBeat(slot=slot, view=view, running=False, code=code))

    def fail(self, slot, view=1, collateral=False):
        words = f"words of {slot}"
        failed = WorkerFailed(view=view, slot=slot, cause="c", words=words, trace="t", collateral=collateral)
        return self.tell(failed)


@pytest.fixture
def group():
    group = Group()
    group.join()
    group.tell(*(WorkerBeat(view=1, slot=slot) for slot in range(3)))
    return group


def start(view, *slots):
    return StartWorkers(view=view, ranks=tuple((slot, slot) for slot in slots), size=3)


def test_the_first_view_begins_when_the_last_agent_has_joined():
    group = Group()
    assert group.tell(AgentJoined(slot=2), AgentJoined(slot=0)) == []
    assert group.machine.missing == (1,)
    assert group.tell(AgentJoined(slot=1)) == [start(1, 0, 1, 2)]
    assert group.machine.rank_of(2) == 2


def test_an_agent_of_no_known_slot_is_ignored():
    assert Group().tell(AgentJoined(slot=3)) == []


def test_the_run_finishes_with_the_result_of_rank_0_when_all_are_done(group):
    done = [WorkerDone(view=1, slot=slot, result={"of": slot}) for slot in (2, 0, 1)]
    assert group.tell(*done) == [Finish(result={"of": 0})]
    assert group.machine.phase is Phase.ENDED
    assert group.die(0) == []


def test_a_killed_worker_ends_the_view_and_the_next_begins_when_the_old_has_gone(group):
    lost = Restarting(view=1, reason="worker 1 of 3 was killed by SIGKILL", left=2)
    assert group.die(1) == [lost, StopWorkers(view=1, slots=(0, 2))]
    assert group.cleared(1, 0) == []
    assert group.cleared(1, 2) == [start(2, 0, 1, 2)]


def test_a_beat_from_before_the_start_does_not_count_as_gone(group):
    group.die(1)
    assert group.tell(AgentBeat(slot=0, view=0, running=False), AgentBeat(slot=2, view=0, running=False)) == []
    assert group.cleared(1, 0, 2) == [start(2, 0, 1, 2)]


def test_two_deaths_at_once_cost_one_restart(group):
    group.die(1)
    group.die(0)
    assert group.cleared(1, 2) == [start(2, 0, 1, 2)]
    assert group.machine.restarts_left == 2


def test_the_budget_ends():
    group = Group(restarts=0)
    group.join()
    assert group.die(1) == [
        Lose(reason="worker 1 of 3 was killed by SIGKILL, and no restarts are left (cluster.restarts)")
    ]


def test_a_lost_agent_ends_the_view_and_the_next_waits_for_its_successor(group):
    actions = group.tell(AgentLost(slot=2, reason="gone"))
    assert actions[0].reason == "the agent of worker 2 of 3 was lost: gone"
    assert group.cleared(1, 0, 1) == []
    assert group.tell(AgentJoined(slot=2)) == [start(2, 0, 1, 2)]


def test_an_agent_lost_after_its_worker_was_done_does_no_harm(group):
    group.tell(WorkerDone(view=1, slot=2, result={}))
    assert group.tell(AgentLost(slot=2, reason="gone")) == []


def test_an_agent_that_comes_back_as_a_new_process_has_lost_its_worker(group):
    actions = group.tell(AgentJoined(slot=1))
    assert actions[0].reason == "the agent of worker 1 of 3 was lost: it came back as a new process"
    assert group.cleared(1, 0, 2) == [start(2, 0, 1, 2)]


def test_a_mistake_ends_the_run_a_moment_later(group):
    assert group.fail(1) == []
    (fail,) = group.wait(0.3)
    assert isinstance(fail, Fail)
    assert (fail.rank, fail.failure.words) == (1, "words of 1")


def test_a_kill_seen_in_that_moment_is_the_root_cause(group):
    group.fail(1)
    assert isinstance(group.die(0)[0], Restarting)
    assert group.wait(0.3) == []


def test_an_abort_after_a_mistake_is_not_the_root_cause(group):
    group.fail(1)
    assert group.die(0, code=-signal.SIGABRT) == []
    assert isinstance(group.wait(0.3)[0], Fail)


def test_the_first_of_two_mistakes_is_reported(group):
    group.fail(2)
    group.fail(1)
    assert group.wait(0.3)[0].rank == 2


def test_who_only_noticed_a_loss_waits_for_the_root_cause(group):
    group.fail(0, collateral=True)
    assert group.wait(1.0) == []
    assert group.fail(1) == []
    assert group.wait(0.3)[0].rank == 1


def test_a_loss_without_a_root_cause_is_a_restart(group):
    group.fail(0, collateral=True)
    group.wait(2.9)
    assert group.wait(0.2)[0] == Restarting(view=1, reason="worker 0 of 3 lost its peers: words of 0", left=2)


def test_an_end_without_a_word_is_a_restart_unless_the_word_is_late(group):
    group.die(0, code=0)
    group.tell(WorkerDone(view=1, slot=0, result={}))
    assert group.wait(5.0) == []
    group.die(1, code=3)
    (restarting, *_rest) = group.wait(5.0) or group.wait(0.0)
    assert restarting.reason == "worker 1 of 3 ended with exit code 3 without a word"


def test_the_end_of_a_process_after_its_last_word_is_no_news(group):
    group.tell(WorkerDone(view=1, slot=0, result={}))
    assert group.die(0, code=-signal.SIGABRT) == []
    assert group.wait(5.0) == []


def test_a_worker_of_an_old_view_is_not_heard(group):
    group.die(1)
    group.cleared(1, 0, 2)
    late = [WorkerDone(view=1, slot=slot, result={}) for slot in range(3)]
    assert group.tell(*late, WorkerReady(view=1, slot=0)) == []
    assert group.fail(0, view=1) == []
    assert group.wait(1.0) == []
    assert group.machine.fenced == 5


def test_a_silent_agent_is_dropped(group):
    group.now_s = 9.0
    group.tell(*(AgentBeat(slot=slot, view=1, running=True) for slot in (0, 1)))
    group.tell(*(WorkerBeat(view=1, slot=slot) for slot in range(3)))
    drop, restarting, *_ = group.wait(2.0)
    assert drop == DropAgent(slot=2, reason="silent for 10 s")
    assert restarting.reason == "the agent of worker 2 of 3 was lost: silent for 10 s"


def test_an_absence_of_the_launching_process_is_nobodys_silence(group):
    """A machine that slept, a VM that was moved, Ctrl-Z: nobody could be heard meanwhile."""
    group.wait(4.0)
    group.now_s += 3600.0
    assert group.wait(5.5) == []
    drop, restarting, *_ = group.wait(1.0)
    assert (drop.slot, restarting.reason) == (0, "the agent of worker 0 of 3 was lost: silent for 10 s")


def test_a_silent_worker_is_replaced(group):
    group.now_s = 9.0
    group.tell(*(AgentBeat(slot=slot, view=1, running=True) for slot in range(3)))
    group.tell(*(WorkerBeat(view=1, slot=slot) for slot in (0, 2)))
    restarting, stop, *_ = group.wait(2.0)
    assert restarting.reason == "worker 1 of 3 has been silent for 10 s"
    assert stop == StopWorkers(view=1, slots=(0, 1, 2))


def test_a_start_that_showed_no_effect_is_said_again():
    group = Group()
    group.join()
    group.tell(WorkerBeat(view=1, slot=1))
    assert group.wait(2.5) == [start(1, 0, 2)]


def test_a_stop_that_showed_no_effect_is_said_again(group):
    group.die(1)
    group.cleared(1, 0)
    assert group.wait(2.5) == [StopWorkers(view=1, slots=(2,))]


def test_asked_to_stop_the_workers_are_asked_and_the_run_finishes(group):
    ask = RequestStop(view=1, slots=(0, 1, 2), reason="Ctrl-C", save=True)
    assert group.tell(StopAsked(reason="Ctrl-C")) == [ask]
    done = [WorkerDone(view=1, slot=slot, result={"stopped": True}) for slot in range(3)]
    assert group.tell(*done) == [Finish(result={"stopped": True})]


def test_a_worker_that_comes_late_is_asked_to_stop_too():
    group = Group()
    group.join()
    group.tell(StopAsked(reason="Ctrl-C"))
    assert group.tell(WorkerBeat(view=1, slot=1)) == [RequestStop(view=1, slots=(0, 1, 2), reason="Ctrl-C", save=True)]


def test_a_death_while_stopping_is_not_followed_by_a_restart(group):
    group.tell(StopAsked(reason="Ctrl-C"))
    assert group.die(1) == [Interrupt(reason="worker 1 of 3 was killed by SIGKILL while the run was stopping")]


def test_asked_to_stop_at_once_or_before_anything_began_the_run_just_ends(group):
    assert group.tell(StopAsked(reason="Ctrl-C", save=False)) == [Interrupt(reason="Ctrl-C")]
    assert Group().tell(StopAsked(reason="Ctrl-C")) == [Interrupt(reason="Ctrl-C")]
