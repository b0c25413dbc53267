"""Many sinks as one that never fails."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from stretto.observe.event import Event
from stretto.observe.sink import Sink

_log = logging.getLogger("stretto")


class Sinks:
    """Hands every event to every sink; one that raises is reported once, as a `warning` event, and dropped.

    >>> seen = Sinks([])
    >>> seen.write(Event(kind="finished"))
    >>> seen.close()
    """

    def __init__(self, sinks: Iterable[Sink]) -> None:
        self._sinks = list(sinks)

    def write(self, event: Event) -> None:
        """Give the event to all sinks that are left; never raises because of a sink."""
        for sink in tuple(self._sinks):
            if sink in self._sinks:
                self._try(sink, event)

    def close(self) -> None:
        """Close all sinks, even when one of them raises."""
        while self._sinks:
            self._close(self._sinks.pop())

    def _try(self, sink: Sink, event: Event) -> None:
        try:
            sink.write(event)
        except Exception as error:
            self._sinks.remove(sink)
            self._close(sink)
            self._report(f"{type(sink).__name__} takes no more events: {type(error).__name__}: {error}", event)

    def _report(self, message: str, event: Event) -> None:
        if not self._sinks:
            _log.warning(message)
        self.write(Event(kind="warning", step=event.step, values={"message": message}))

    @staticmethod
    def _close(sink: Sink) -> None:
        try:
            sink.close()
        except Exception as error:
            _log.warning("%s could not be closed: %s: %s", type(sink).__name__, type(error).__name__, error)
