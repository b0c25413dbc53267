"""Where events go: the contract of every sink."""

from __future__ import annotations

from typing import Protocol

from stretto.observe.event import Event


class Sink(Protocol):
    """Something that takes a run's events: a file, a display, a tracker.

    Sinks live in the launching process. They may raise: `Sinks` reports that once and leaves the sink out from then on,
    the training goes on.
    """

    def write(self, event: Event) -> None:
        """Take one event; events come in the order in which the launching process received them."""
        ...

    def close(self) -> None:
        """Bring everything to its place and let go of it; safe to call twice."""
        ...
