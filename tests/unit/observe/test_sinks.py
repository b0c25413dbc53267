import logging

import pytest
from observed_world import Collected

from stretto.observe.event import Event
from stretto.observe.sinks import Sinks


class Failing(Collected):
    def write(self, event):
        super().write(event)
        raise OSError(28, "No space left on device")


class FailingToClose(Collected):
    def close(self):
        raise RuntimeError("the tracker is gone")


def kinds(sink):
    return [event.kind for event in sink.events]


def test_every_sink_gets_every_event():
    first, second = Collected(), Collected()
    Sinks([first, second]).write(Event(kind="progress"))
    assert kinds(first) == kinds(second) == ["progress"]


def test_a_sink_that_raises_is_reported_once_and_left_out():
    failing, sound = Failing(), Collected()
    sinks = Sinks([failing, sound])
    sinks.write(Event(kind="progress", step=7))
    sinks.write(Event(kind="finished"))
    assert kinds(failing) == ["progress"] and failing.closed == 1
    assert sorted(kinds(sound)) == ["finished", "progress", "warning"]
    warning = next(event for event in sound.events if event.kind == "warning")
    assert warning.step == 7
    assert warning.values["message"] == "Failing takes no more events: OSError: [Errno 28] No space left on device"


def test_all_sinks_may_fail_and_nothing_stops(caplog):
    sinks = Sinks([Failing(), Failing()])
    with caplog.at_level(logging.WARNING, "stretto"):
        sinks.write(Event(kind="progress"))
    sinks.write(Event(kind="finished"))
    sinks.close()
    assert "takes no more events" in caplog.text


def test_a_person_who_interrupts_is_not_mistaken_for_a_failing_sink():
    class Interrupted(Collected):
        def write(self, event):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Sinks([Interrupted()]).write(Event(kind="progress"))


def test_closing_goes_on_past_a_sink_that_cannot_be_closed(caplog):
    sound = Collected()
    sinks = Sinks([sound, FailingToClose()])
    with caplog.at_level(logging.WARNING, "stretto"):
        sinks.close()
        sinks.close()
    assert sound.closed == 1 and "the tracker is gone" in caplog.text
