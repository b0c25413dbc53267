"""The live picture of a run, for terminals."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from stretto.observe.event import Event
from stretto.observe.overview import Overview

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class Terminal:
    """Draws where the run stands and keeps it in place at the foot of the terminal, four times a second at most.

    What others print appears above it. On closing, the last picture stays. Colours follow NO_COLOR.
    """

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._overview = Overview()
        self._lock = threading.Lock()  # rich draws on a thread of its own
        self._live = Live(
            console=console or Console(stderr=True), get_renderable=self._draw, refresh_per_second=4, transient=False
        )

    def write(self, event: Event) -> None:
        """Take the event into the picture; the first one makes it appear."""
        with self._lock:
            self._overview.add(event)
        if not self._live.is_started:
            self._live.start()

    def close(self) -> None:
        """Leave the last picture where it is and give the terminal back."""
        self._live.stop()

    def _draw(self) -> RenderableType:
        from stretto.observe.picture import picture

        with self._lock:
            return picture(self._overview)
