"""The coordinator with real agents in threads, and what it tells the sinks."""

from __future__ import annotations

import contextlib
import os
import threading

import pytest
from launch_world import Watch, launch

from stretto.communicate.control_client import ControlConnection
from stretto.communicate.membership_event import SlotEnded
from stretto.communicate.messages import Done, Hello, Refused
from stretto.errors import Interrupted, PeerLost, SeatFailed, WorkersLost
from stretto.launch.inline import InlineEngine


class Stillborn(InlineEngine):
    """An engine whose slots end as soon as they are started."""

    def start(self, slots):
        self.stillborn = [SlotEnded(slot=slot, code=127) for slot in slots]

    def poll(self):
        ended, self.stillborn = self.stillborn, []
        return ended

    stillborn = []


class Unopenable(InlineEngine):
    """An engine that does not work here."""

    def open(self, address, key, let_go):
        raise RuntimeError("no such cluster")


class Latecomer:
    """Dials as a worker of another view while the first view runs, and claims to be done."""

    def __init__(self, watch, view):
        self.said = []
        self._watch, self._view = watch, view
        self._thread = threading.Thread(target=self._come)
        self._thread.start()

    def _come(self):
        server = self._watch.coordinator._server
        hello = Hello(role="worker", slot=0, view=self._view, pid=os.getpid())
        connection = ControlConnection.dial(server.address, server.key, hello)
        connection.send(Done(result={"rank": "stolen"}))
        with contextlib.suppress(PeerLost):
            while True:
                self.said += connection.receive()
        connection.close()
        self._watch.coordinator.interrupt("enough")

    def join(self):
        self._thread.join(10.0)


def test_what_happened_is_told_in_order():
    watch = Watch(2)
    launch(InlineEngine(), "finish", watch, slots=2)
    assert watch.kinds() == ["view_started", "worker_ready", "worker_ready"]
    assert watch.values("view_started") == [{"view": 1, "workers": 2, "restarts_left": 3}]


def test_a_mistake_is_told_before_it_is_raised():
    watch = Watch(4)
    with pytest.raises(SeatFailed):
        launch(InlineEngine(), "break_down", watch)
    (failed,) = watch.values("failed")
    assert failed["cause"] == "user's code"
    assert failed["message"].startswith("ZeroDivisionError: a mistake in the model (")


def test_a_result_that_is_too_large_is_the_workers_failure():
    with pytest.raises(SeatFailed, match=r"a frame was refused: 50000\d\d \+ 0 bytes, allowed are 4194304"):
        launch(InlineEngine(), "boast", Watch(1), slots=1)


def test_slots_that_never_live_are_given_up():
    watch = Watch(2)
    with pytest.raises(WorkersLost, match="the agent of slot 0 has ended 2 times, last with exit code 127"):
        launch(Stillborn(), "finish", watch, slots=2, restarts=1)
    assert watch.kinds() == ["failed"]


def test_an_engine_that_cannot_be_opened_leaves_nothing():
    with pytest.raises(RuntimeError, match="no such cluster"):
        launch(Unopenable(), "finish", Watch(1), slots=1)


def test_a_sink_that_fails_leaves_nothing():
    class Full(Watch):
        def write(self, event):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        launch(InlineEngine(), "finish", Full(1), slots=1)


def test_a_worker_of_another_view_is_refused_and_its_result_is_not_taken():
    latecomers = []
    watch = Watch(2, lambda watch, _view: latecomers.append(Latecomer(watch, view=7)))
    result = launch(InlineEngine(), "stay", watch, slots=2)
    latecomers[0].join()
    assert result == {"view": 1, "stopped": "enough"}
    assert latecomers[0].said == [Refused(reason="view 7 is over")]


def test_interrupted_before_anything_began_the_run_ends():
    class Slow(InlineEngine):
        def start(self, slots):
            watch.coordinator.interrupt("Ctrl-C")

    watch = Watch(1)
    with pytest.raises(Interrupted, match=r"Ctrl-C"):
        launch(Slow(), "finish", watch, slots=1)
    assert watch.kinds() == ["stopping"]
