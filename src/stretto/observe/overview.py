"""The present state of a run, put together from its events."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.job.budget import Budget
from stretto.observe.event import Event
from stretto.observe.news import News, news_of

_ENDINGS: Final = {"stopping": "stopping", "finished": "finished", "failed": "failed"}


@dataclass(slots=True, kw_only=True)
class SeatState:
    """What is known of one worker."""

    state: str
    step: int | None = None
    samples_per_s: float | None = None
    sent_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """How far a run is along one of its limits: `done` of `limit`, counted in `unit` (epoch, step or s)."""

    unit: str
    done: float
    limit: float

    @property
    def fraction(self) -> float:
        """The part that is done, between 0 and 1."""
        return min(self.done / self.limit, 1.0) if self.limit else 1.0


@dataclass(slots=True, kw_only=True)
class Overview:
    """All that a display shows; `add` every event and read the rest.

    >>> overview = Overview()
    >>> overview.add(Event(kind="progress", seat=0, step=10, values={"loss": 0.5}))
    >>> overview.step, overview.scalars["loss"]
    (10, 0.5)
    """

    facts: dict[str, Any] = field(default_factory=dict)
    status: str = "starting"
    step: int = 0
    epoch: int = 0
    samples: int = 0
    started_s: float | None = None
    latest_s: float = 0.0
    scalars: dict[str, float] = field(default_factory=dict)
    validation: dict[str, float] = field(default_factory=dict)
    best: dict[str, Any] = field(default_factory=dict)
    seats: dict[int, SeatState] = field(default_factory=dict)
    news: deque[News] = field(default_factory=lambda: deque(maxlen=100))
    _first: tuple[float, float] | None = None  # when progress was first seen here, and how far it was

    def add(self, event: Event) -> None:
        """Take one more event into account."""
        self.started_s = self.started_s if self.started_s is not None else event.time_s
        self.latest_s = event.time_s
        if event.kind in ("run_started", "training_started"):
            self.facts.update(event.values)
            self._stand_at(event)
        elif event.kind == "view_started":
            self.seats = {seat: SeatState(state="starting") for seat in range(event.values.get("workers") or 0)}
        elif event.kind == "worker_ready" and event.seat in self.seats:  # seats behind them serve
            self.seats[event.seat] = SeatState(state="ready")
        elif event.kind == "progress":
            self._progress(event)
        elif event.kind == "validated":
            self.validation = _numbers(event.values)
        elif event.kind == "best":
            self.best = {"step": event.step, **event.values}
        elif event.kind in _ENDINGS:
            self._end(str(event.values.get("status", _ENDINGS[event.kind])))
        news = news_of(event)
        if news is not None:
            self.news.append(news)

    @property
    def samples_per_s(self) -> float | None:
        """What all workers together process."""
        rates = [seat.samples_per_s for seat in self.seats.values() if seat.samples_per_s is not None]
        return sum(rates) if rates else None

    @property
    def sent_bytes(self) -> int:
        """What all workers together have sent to each other since they started."""
        return sum(seat.sent_bytes for seat in self.seats.values())

    def stretch(self) -> Stretch | None:
        """How far the run is along the limit it will probably meet first; None when it is not known."""
        if "until" not in self.facts:
            return None
        until = Budget.parse(self.facts["until"])
        stretches = [
            Stretch(unit=unit, done=done, limit=limit)
            for unit, done, limit in (
                ("epoch", self._epochs(), until.epochs),
                ("step", float(self.step), until.steps),
                ("s", float(self.scalars.get("seconds", 0.0)), until.seconds),
            )
            if limit is not None
        ]
        return max(stretches, key=lambda stretch: stretch.fraction, default=None)

    def remaining_s(self) -> float | None:
        """How long the rest will take at the pace seen so far; None before there is a pace."""
        stretch = self.stretch()
        if stretch is None or self._first is None:
            return None
        since_s, before = self._first
        gained = stretch.fraction - before
        return (self.latest_s - since_s) * (1 - stretch.fraction) / gained if gained > 0 else None

    def _epochs(self) -> float:
        per_epoch = self.facts.get("samples_per_epoch")
        return self.samples / per_epoch if per_epoch else float(self.epoch)

    def _stand_at(self, event: Event) -> None:
        self.step = event.step if event.step is not None else self.step
        self.epoch = event.epoch if event.epoch is not None else self.epoch
        self.samples = event.samples if event.samples is not None else self.samples

    def _progress(self, event: Event) -> None:
        if event.seat is not None:
            self.seats[event.seat] = SeatState(
                state="training",
                step=event.step,
                samples_per_s=event.values.get("samples_per_s"),
                sent_bytes=event.values.get("sent_bytes", 0),
            )
        if event.seat not in (None, min(self.seats, default=None)):
            return
        self.status = "training" if self.status == "starting" else self.status
        self.scalars = _numbers(event.values)
        self._stand_at(event)
        stretch = self.stretch()
        if self._first is None and stretch is not None:
            self._first = (event.time_s, stretch.fraction)

    def _end(self, status: str) -> None:
        self.status = status
        for seat in self.seats.values():
            seat.state = status


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in values.items() if isinstance(value, int | float)}
