"""What is worth a sentence among the events of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from stretto.observe.event import Event
from stretto.observe.figures import figure, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One sentence about an event; `grave` when something went wrong."""

    time_s: float
    text: str
    grave: bool = False


def news_of(event: Event) -> News | None:
    """Say in words what an event means to the person who watches, or None when it is nothing new.

    >>> news_of(Event(kind="best", step=400, values={"metric": "accuracy", "value": 0.98123})).text
    'best accuracy so far: 0.9812 at step 400'
    """
    sentence = _SENTENCES.get(event.kind)
    if sentence is None:
        return None
    return News(time_s=event.time_s, text=sentence(event), grave=event.kind in _GRAVE)


def _run(event: Event) -> str:
    return "run started"


def _resumed(event: Event) -> str:
    step = event.values.get("resumed_step")
    return "training started" if step is None else f"training resumed at step {step:,}"


def _finished(event: Event) -> str:
    return str(event.values.get("status", "finished")) + _because(event, "reason")


def _view(event: Event) -> str:
    workers = event.values.get("workers")
    return f"{'training' if workers is None else plural(workers, 'worker')} starting{_at(event.step or None)}"


def _saved(event: Event) -> str:
    return f"checkpoint{_at(event.values.get('saved_step', event.step))} saved"


def _restarted(event: Event) -> str:
    left = event.values.get("left")
    return "restarted" + _because(event, "reason") + ("" if left is None else f" ({plural(left, 'restart')} left)")


def _best(event: Event) -> str:
    metric, value = event.values.get("metric", "model"), event.values.get("value")
    return f"best {metric} so far{'' if value is None else f': {figure(value)}'}{_at(event.step)}"


def _replaced(event: Event) -> str:
    return "replacing" + _because(event, "reason")


def _damaged(event: Event) -> str:
    told = event.values
    return f"left out: {told.get('file')} at offset {told.get('offset')}" + _because(event, "reason")


def _shares(event: Event) -> str:
    shares = ", ".join(f"{share:.0%}" for share in event.values.get("shares", ()))
    return f"sharing batches by measured speed: {shares}"


def _failed(event: Event) -> str:
    told = event.values
    who = "" if event.seat is None else f"{told.get('role', 'worker')} {told.get('rank', event.seat)} "
    return f"{who}failed" + _because(event, "cause") + _because(event, "message")


def _said(before: str, key: str) -> Callable[[Event], str]:
    return lambda event: before + _because(event, key)


def _because(event: Event, key: str) -> str:
    return f": {event.values[key]}" if event.values.get(key) else ""


def _at(step: int | None) -> str:
    return "" if step is None else f" at step {step:,}"


_GRAVE: Final = frozenset({"checkpoint_damaged", "restarted", "replaced", "sample_damaged", "warning", "failed"})
_SENTENCES: Final[Mapping[str, Callable[[Event], str]]] = {
    "run_started": _run,
    "training_started": _resumed,
    "view_started": _view,
    "checkpoint_saved": _saved,
    "checkpoint_damaged": _said("checkpoint damaged", "message"),
    "best": _best,
    "shares": _shares,
    "restarted": _restarted,
    "replaced": _replaced,
    "sample_damaged": _damaged,
    "warning": _said("warning", "message"),
    "stopping": _said("stopping", "reason"),
    "finished": _finished,
    "failed": _failed,
}
