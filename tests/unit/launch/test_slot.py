"""What an agent decides about its worker."""

from __future__ import annotations

from stretto.communicate.messages import Assignment, Beat, Leave, Ready, Start, StopWorker
from stretto.launch.slot import Depart, EndWorker, Say, Slot, StartWorker


def start(view):
    return Start(assignment=Assignment(run_id="r", view=view, slot=0, rank=0, size=1, entry="e:e"))


def started(view):
    slot = Slot()
    slot.on_message(start(view), 0.0)
    return slot


def test_a_worker_is_started_and_told_of():
    message = start(1)
    beat = Beat(view=1, running=True)
    assert Slot().on_message(message, 0.0) == [StartWorker(message.assignment), Say(beat)]


def test_a_view_is_started_once_however_often_it_is_said():
    slot = started(1)
    assert slot.on_message(start(1), 0.0) == [Say(Beat(view=1, running=True))]
    slot.on_worker_ended(0)
    assert slot.on_message(start(1), 0.0) == [Say(Beat(view=1, running=False, code=0))]


def test_there_is_one_worker_at_a_time():
    assert started(1).on_message(start(2), 0.0) == [Say(Beat(view=1, running=True))]


def test_the_next_view_starts_when_the_worker_of_the_last_has_ended():
    slot = started(1)
    assert slot.on_worker_ended(-9) == [Say(Beat(view=1, running=False, code=-9))]
    assert isinstance(slot.on_message(start(2), 0.0)[0], StartWorker)


def test_a_stopped_worker_is_killed_at_once_without_grace():
    assert started(1).on_message(StopWorker(view=1), 0.0) == [EndWorker(force=True)]


def test_with_grace_it_is_asked_first_and_killed_later():
    slot = started(1)
    assert slot.on_message(StopWorker(view=1, grace_s=2.0), 10.0) == [EndWorker(force=False)]
    assert slot.on_tick(11.9) == []
    assert slot.on_tick(12.0) == [EndWorker(force=True)]
    assert slot.on_tick(13.0) == []


def test_a_worker_that_ends_within_the_grace_is_not_killed():
    slot = started(1)
    slot.on_message(StopWorker(view=1, grace_s=2.0), 10.0)
    slot.on_worker_ended(0)
    assert slot.on_tick(12.0) == []


def test_a_stop_that_overtakes_its_start_forbids_it():
    slot = Slot()
    assert slot.on_message(StopWorker(view=2), 0.0) == [Say(Beat(view=2))]
    assert slot.on_message(start(2), 0.0) == [Say(Beat(view=2))]
    assert isinstance(slot.on_message(start(3), 0.0)[0], StartWorker)


def test_a_stop_of_an_older_view_does_no_harm():
    assert started(3).on_message(StopWorker(view=2), 0.0) == [Say(Beat(view=3, running=True))]


def test_a_stop_of_a_later_view_is_confirmed_when_the_worker_has_ended():
    slot = started(1)
    assert slot.on_message(StopWorker(view=4), 0.0) == [EndWorker(force=True)]
    assert slot.on_worker_ended(-9) == [Say(Beat(view=4, running=False, code=-9))]


def test_an_agent_without_a_worker_leaves_at_once():
    assert Slot().on_message(Leave(), 0.0) == [Depart()]


def test_an_agent_lets_its_worker_end_before_it_leaves():
    slot = started(1)
    assert slot.on_message(Leave(grace_s=5.0), 0.0) == []
    assert slot.on_worker_ended(0)[-1] == Depart()


def test_an_agent_that_leaves_kills_a_worker_that_does_not_end():
    slot = started(1)
    slot.on_message(Leave(grace_s=5.0), 0.0)
    assert slot.on_tick(5.0) == [EndWorker(force=True)]
    assert slot.on_message(start(2), 5.0) == [Say(Beat(view=1, running=True))]


def test_other_messages_are_ignored():
    assert Slot().on_message(Ready(), 0.0) == []
