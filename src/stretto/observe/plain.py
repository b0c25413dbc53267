"""The state of a run as lines of text, where there is no terminal."""

from __future__ import annotations

import time
from typing import TextIO

from stretto.observe.event import Event
from stretto.observe.figures import clock, figure
from stretto.observe.news import news_of
from stretto.observe.overview import Overview


class Plain:
    """Writes a line at every validation and for every piece of news, and in between one every `every_s` seconds.

    A stream that nobody reads any more raises; `Sinks` then leaves this sink out.
    """

    def __init__(self, stream: TextIO, every_s: float = 10.0) -> None:
        self._stream = stream
        self._every_s = every_s
        self._overview = Overview()
        self._due_s = 0.0

    def write(self, event: Event) -> None:
        """Take the event into account and write a line if it is worth one."""
        self._overview.add(event)
        text = self._text(event)
        if text is not None:
            self._stream.write(f"{time.strftime('%H:%M:%S', time.localtime(event.time_s))} {text}\n")
            self._stream.flush()

    def close(self) -> None:
        """Leave nothing in the buffer; the stream stays open, it belongs to others."""
        self._stream.flush()

    def _text(self, event: Event) -> str | None:
        if event.kind == "validated":
            return "validation " + _listed(self._overview.validation)
        if event.kind == "progress":
            if event.time_s < self._due_s or not self._overview.scalars:  # the first worker has not told anything yet
                return None
            self._due_s = event.time_s + self._every_s
            return _standing(self._overview)
        news = news_of(event)
        return None if news is None else news.text + _introduction(event)


def _introduction(event: Event) -> str:
    if event.kind != "run_started":
        return ""
    told = ("model", "data", "strategy", "engine", "workers", "until", "folder")
    facts = [f"{key} {event.values[key]}" for key in told if key in event.values]
    return f" ({', '.join(facts)})" if facts else ""


def _standing(overview: Overview) -> str:
    stretch, left_s, rate = overview.stretch(), overview.remaining_s(), overview.samples_per_s
    parts = [f"step {overview.step:,}"]
    parts += [f"{stretch.fraction:.0%}"] if stretch else []
    parts += [f"{label} {figure(overview.scalars[label])}" for label in ("loss", "lr") if label in overview.scalars]
    parts += [f"{figure(rate)} samples/s"] if rate is not None else []
    parts += [f"{clock(left_s)} left"] if left_s is not None else []
    return "  ".join(parts)


def _listed(values: dict[str, float]) -> str:
    return "  ".join(f"{name} {figure(value)}" for name, value in values.items())
