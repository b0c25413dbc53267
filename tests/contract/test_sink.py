"""What every sink does: it takes any event of a run and can be closed twice."""

import io

import pytest
from observed_world import Collected, run_events
from rich.console import Console

from stretto.observe.event import KINDS, Event
from stretto.observe.json_lines import JsonLines
from stretto.observe.plain import Plain
from stretto.observe.sinks import Sinks
from stretto.observe.tensorboard import TensorBoard
from stretto.observe.terminal import Terminal

SINKS = {
    "json_lines": lambda folder: JsonLines(folder / "events.jsonl"),
    "tensorboard": lambda folder: TensorBoard(folder / "tensorboard"),
    "terminal": lambda folder: Terminal(Console(file=io.StringIO(), force_terminal=True, width=80)),
    "plain": lambda folder: Plain(io.StringIO()),
    "sinks": lambda folder: Sinks([Collected()]),
}


@pytest.fixture(params=SINKS)
def sink(request, tmp_path):
    made = SINKS[request.param](tmp_path)
    yield made
    made.close()


def test_a_sink_takes_a_whole_run(sink):
    for event in run_events():
        sink.write(event)


@pytest.mark.parametrize("kind", [*KINDS, "users_own"])
def test_a_sink_takes_every_kind_of_event_with_and_without_details(sink, kind):
    sink.write(Event(kind=kind))
    sink.write(
        Event(kind=kind, seat=1, step=3, epoch=0, samples=9, values={"value": 1.5, "message": "words", "loss": 2})
    )


def test_a_sink_may_be_closed_without_events_and_twice(sink):
    sink.close()
    sink.close()
