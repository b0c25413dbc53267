"""Slots that serve instead of training: they are replaced one by one, and the view goes on."""

import signal

import pytest

from stretto.communicate.membership import Membership, Patience, Phase
from stretto.communicate.membership_action import (
    DropAgent,
    Fail,
    Finish,
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
)

SAMPLER = 2


class Group:
    """Two slots that train and one that serves, all working, and a clock."""

    def __init__(self, restarts=3):
        self.machine = Membership(slots=3, trainers=2, restarts=restarts, patience=Patience(silence_s=10.0))
        self.now_s = 0.0
        self.begun = self.tell(*(AgentJoined(slot=slot) for slot in range(3)))
        self.tell(*(WorkerBeat(view=1, slot=slot) for slot in range(3)))

    def tell(self, *events):
        return [action for event in events for action in self.machine.on_event(event, self.now_s)]

    def kill(self, slot, attempt=0):
        return self.tell(AgentBeat(slot=slot, view=1, attempt=attempt, running=False, code=-signal.SIGKILL))

    def wait(self, seconds, *, heard=()):
        """Let time pass while the agents beat, and these slots' workers too."""
        end_s, actions = self.now_s + seconds, []
        while self.now_s < end_s:
            self.now_s += 0.5
            for slot in self.machine.joined:
                actions += self.tell(AgentBeat(slot=slot, view=1, attempt=self.machine.attempt_of(slot), running=True))
            actions += self.tell(*(WorkerBeat(view=1, slot=slot) for slot in heard))
            actions += self.machine.on_tick(self.now_s)
        return actions


@pytest.fixture
def group():
    return Group()


def again(attempt_slot=SAMPLER):
    return StartWorkers(view=1, ranks=((attempt_slot, attempt_slot),), size=2)


def replacing(reason, left=2):
    return Replacing(view=1, slot=SAMPLER, reason=reason, left=left)


def test_all_start_together_and_only_those_that_train_are_counted(group):
    assert group.begun == [StartWorkers(view=1, ranks=((0, 0), (1, 1), (2, 2)), size=2)]


def test_one_that_is_killed_is_started_again_in_the_same_view(group):
    assert group.kill(SAMPLER) == [replacing("sampler 0 of 1 was killed by SIGKILL"), again()]
    assert (group.machine.view, group.machine.attempt_of(SAMPLER)) == (1, 1)
    assert group.kill(SAMPLER, attempt=1)[0] == replacing("sampler 0 of 1 was killed by SIGKILL", left=1)


def test_what_is_still_said_of_an_earlier_attempt_changes_nothing(group):
    group.kill(SAMPLER)
    assert group.kill(SAMPLER) == []
    failed = WorkerFailed(view=1, slot=SAMPLER, cause="c", words="w", trace="t")
    assert group.tell(failed, WorkerBeat(view=1, slot=SAMPLER)) == []
    assert group.machine.fenced == 2


def test_one_whose_agent_is_lost_is_started_when_an_agent_is_there_again(group):
    lost = group.tell(AgentLost(slot=SAMPLER, reason="connection closed"))
    assert lost == [replacing("the agent of sampler 0 of 1 was lost: connection closed")]
    assert group.tell(AgentLost(slot=SAMPLER, reason="again")) == []
    assert group.tell(AgentJoined(slot=SAMPLER)) == [again()]


def test_one_that_falls_silent_loses_its_agent_and_its_silence_begins_anew_when_it_is_back(group):
    actions = group.wait(10.5, heard=(0, 1))
    reason = "silent for 10 s"
    assert actions == [
        DropAgent(slot=SAMPLER, reason=reason),
        replacing(f"the agent of sampler 0 of 1 was lost: {reason}"),
    ]
    group.wait(9.0, heard=(0, 1))
    assert group.tell(AgentJoined(slot=SAMPLER)) == [again()]
    assert [each for each in group.wait(9.0, heard=(0, 1)) if not isinstance(each, StartWorkers)] == []


def test_it_is_asked_to_start_again_until_it_does(group):
    group.kill(SAMPLER)
    group.now_s += 5.0
    assert group.machine.on_tick(group.now_s) == [again()]


def test_without_restarts_it_cannot_be_replaced():
    lost = "sampler 0 of 1 was killed by SIGKILL, and no restarts are left (cluster.restarts)"
    assert Group(restarts=0).kill(SAMPLER) == [Lose(reason=lost)]


def test_a_killed_worker_takes_the_view_along_and_a_sampler_that_may_still_start_is_waited_for(group):
    group.kill(SAMPLER)
    lost = Restarting(view=1, reason="worker 0 of 2 was killed by SIGKILL", left=1)
    assert group.kill(0) == [lost, StopWorkers(view=1, slots=(1, SAMPLER))]
    assert group.tell(AgentBeat(slot=1, view=1, running=False)) == []
    assert group.tell(AgentBeat(slot=SAMPLER, view=1, attempt=0, running=False)) == []
    (begun,) = group.tell(AgentBeat(slot=SAMPLER, view=1, attempt=1, running=False))
    assert begun.view == 2


def test_the_run_is_finished_when_those_that_train_are_done(group):
    done = [WorkerDone(view=1, slot=slot, result={"of": slot}) for slot in (0, 1)]
    assert group.tell(*done) == [Finish(result={"of": 0})]
    assert group.machine.phase is Phase.ENDED


def test_a_mistake_in_it_ends_the_run(group):
    failed = WorkerFailed(view=1, slot=SAMPLER, cause="DataError", words="torn", trace="t")
    assert group.tell(failed) == []
    assert group.wait(0.5, heard=(0, 1)) == [Fail(rank=0, failure=failed, role="sampler")]


def test_only_those_that_train_are_asked_to_stop(group):
    assert group.tell(StopAsked(reason="Ctrl-C")) == [RequestStop(view=1, slots=(0, 1), reason="Ctrl-C", save=True)]
    assert group.kill(SAMPLER)[1] == again()
