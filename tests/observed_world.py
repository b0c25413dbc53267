"""A run as its events tell it, for the tests of sinks and displays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stretto.observe.event import Event
from stretto.observe.training import Training

FACTS = {
    "model": "resnet",
    "data": "digits",
    "strategy": "synchronous",
    "engine": "local",
    "workers": 2,
    "until": "10ep or 5min",
    "samples_per_epoch": 1280,
    "folder": "runs/resnet-digits-1118-2133",
}
START_S = 1_700_000_000.0


def started(time_s: float = START_S, **changes: object) -> Event:
    return Event(kind="run_started", step=0, time_s=time_s, values={**FACTS, **changes})


def progress(step: int, seat: int = 0, time_s: float | None = None, **values: float) -> Event:
    return Event(
        kind="progress",
        seat=seat,
        step=step,
        epoch=step // 10,
        samples=step * 128,
        time_s=START_S + 5 + step if time_s is None else time_s,
        values={"loss": 2.0 / step, "lr": 0.1, "samples_per_s": 300.0 + seat, "seconds": float(step), **values},
    )


def run_events(steps: int = 50, workers: int = 2) -> Iterator[Event]:
    """A run from its start to half of its budget."""
    yield started(workers=workers)
    yield Event(kind="view_started", step=0, time_s=START_S + 1, values={"view": 1, "workers": workers})
    for seat in range(workers):
        yield Event(kind="worker_ready", seat=seat, time_s=START_S + 4)
    for step in range(10, steps + 1, 10):
        for seat in range(workers):
            yield progress(step, seat)
    end_s = START_S + 5 + steps
    yield Event(kind="validated", step=steps, time_s=end_s, values={"loss": 0.2903, "accuracy": 0.98123})
    yield Event(kind="best", step=steps, time_s=end_s, values={"metric": "accuracy", "value": 0.98123})
    yield Event(kind="checkpoint_saved", step=steps, time_s=end_s + 1, values={"saved_step": steps - 2})


class Collected:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.closed = 0

    def write(self, event: Event) -> None:
        self.events.append(event)

    def close(self) -> None:
        self.closed += 1


def training(events: Collected | None = None, **fields: object) -> Training:
    """A training at its beginning, whose events land in `events`."""
    taken = events or Collected()
    defaults: dict = {"model": None, "optimizer": None, "job": None, "folder": Path("runs/one"), "report": taken.write}
    return Training(**{**defaults, **fields})
