"""What a callback is shown of a training, and what it may ask of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stretto.observe.event import Event

if TYPE_CHECKING:
    from stretto.job import Job


def _nowhere(event: Event) -> None:
    """Drop an event: what a training without a launching process does."""


@dataclass(slots=True, kw_only=True)
class Training:
    """Where a training stands on this worker, kept up to date by the loop and handed to every callback.

    `step` counts finished updates, `samples` what all workers have consumed, `seconds` the time spent in the loop over
    all its resumptions. `metrics` is the latest validation, the same on every worker; `scalars` is the latest step:
    `loss` and `lr` are the same everywhere, `samples_per_s` is this worker's own.
    """

    model: Any
    optimizer: Any
    job: Job
    rank: int = 0
    workers: int = 1
    folder: Path = Path()
    step: int = 0
    epoch: int = 0
    samples: int = 0
    seconds: float = 0.0
    metrics: dict[str, float] = field(default_factory=dict)
    scalars: dict[str, float] = field(default_factory=dict)
    exception: BaseException | None = None
    stop_reason: str | None = None
    report: Callable[[Event], None] = _nowhere

    def stop(self, reason: str) -> None:
        """Vote for stopping after this update; the loop stops as soon as all workers have met over it.

        The first reason stays: what else is said before the workers meet changes nothing.
        """
        self.stop_reason = self.stop_reason or reason

    def emit(self, event: Event) -> None:
        """Send an event to the launching process, whose sinks write and show it."""
        self.report(event)

    def warn(self, message: str) -> None:
        """Tell whoever watches of something that is not as it should be."""
        self.emit(self.event("warning", message=message))

    def event(self, kind: str, **values: Any) -> Event:
        """Make an event that says where this worker stands now.

        >>> Training(model=None, optimizer=None, job=None, step=7).event("best", metric="accuracy").step
        7
        """
        return Event(
            kind=kind, seat=self.rank, step=self.step, epoch=self.epoch, samples=self.samples, values=dict(values)
        )
