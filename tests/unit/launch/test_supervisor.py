"""The supervisor: which slots are started and stopped, and when it is told that a start hangs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stretto.communicate.membership_event import SlotEnded
from stretto.launch.engine import Abilities
from stretto.launch.supervisor import Decision, Supervisor

ALL = Abilities(add=True, independent=True, self_heals=False, gang=False, remote=False)


def supervisor(slots=3, restarts=2, **abilities):
    return Supervisor(slots=slots, restarts=restarts, abilities=replace(ALL, **abilities))


@pytest.fixture
def joined():
    """All three slots are there."""
    watching = supervisor()
    watching.decide((), (), 0.0)
    watching.decide((0, 1, 2), (), 1.0)
    return watching


def test_at_first_every_slot_is_started_once():
    watching = supervisor()
    assert watching.decide((), (), 0.0) == Decision(start=(0, 1, 2))
    assert watching.decide((0,), (), 0.1) == Decision()


def test_a_slot_that_has_ended_is_started_anew(joined):
    assert joined.decide((0, 2), [SlotEnded(slot=1, code=-9)], 2.0) == Decision(start=(1,))
    assert joined.decide((0, 1, 2), (), 3.0) == Decision()


def test_a_slot_whose_agent_was_lost_is_ended_before_it_is_started_anew(joined):
    assert joined.decide((0, 2), (), 2.0) == Decision(stop=(1,))
    assert joined.decide((0, 2), (), 2.1) == Decision()
    assert joined.decide((0, 2), [SlotEnded(slot=1, code=-9)], 2.2) == Decision(start=(1,))


def test_an_engine_that_heals_by_itself_is_left_to_it():
    watching = supervisor(self_heals=True)
    watching.decide((), (), 0.0)
    assert watching.decide((0, 2), [SlotEnded(slot=1)], 2.0) == Decision()


def test_a_slot_that_keeps_ending_is_given_up():
    watching = supervisor(restarts=1)
    watching.decide((), (), 0.0)
    assert watching.decide((), [SlotEnded(slot=2, code=1)], 1.0).start == (2,)
    decision = watching.decide((), [SlotEnded(slot=2, code=1)], 2.0)
    assert decision == Decision(give_up="the agent of slot 2 has ended 2 times, last with exit code 1")


def test_an_engine_that_cannot_add_a_slot_is_given_up_with_its_first_loss():
    watching = supervisor(add=False)
    watching.decide((), (), 0.0)
    decision = watching.decide((0, 1), [SlotEnded(slot=2, code=137)], 1.0)
    assert decision.give_up == "the agent of slot 2 has ended once, last with exit code 137"


def test_a_start_that_hangs_is_told_again_and_again_and_then_given_up():
    watching = supervisor()
    watching.decide((), (), 0.0)
    assert watching.decide((1,), (), 29.0) == Decision()
    (warning,) = watching.decide((1,), (), 31.0).warnings
    assert warning == "still waiting for slots 0, 2 of 3 after 31 s; everybody else is waiting too"
    assert watching.decide((1,), (), 32.0) == Decision()
    assert len(watching.decide((0, 1), (), 62.0).warnings) == 1
    assert watching.decide((0, 1), (), 301.0).give_up == "slot 2 did not start within 300 s"


def test_a_hint_about_an_unknown_slot_is_ignored(joined):
    assert joined.decide((0, 1, 2), [SlotEnded(slot=9)], 2.0) == Decision()
