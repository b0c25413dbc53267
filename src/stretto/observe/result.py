"""What came of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from stretto.observe.figures import clock, figure, plural, size

Status = Literal["finished", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How far a training came and how good the model is; `best` names the step whose weights are in `folder`/model."""

    folder: Path
    status: Status
    reason: str
    steps: int
    epochs: int
    samples: int
    seconds: float
    samples_per_s: float
    workers: int
    sent_bytes: int
    metrics: dict[str, float] = field(default_factory=dict)
    best: dict[str, Any] | None = None

    @property
    def interrupted(self) -> bool:
        """Whether a person stopped it with Ctrl-C."""
        return self.status == "stopped" and "Ctrl-C" in self.reason

    def values(self) -> dict[str, Any]:
        """The result as JSON can hold it."""
        return asdict(self) | {"folder": str(self.folder)}

    def lines(self) -> Iterator[str]:
        """The result as a person reads it, with what to do next."""
        yield f"{self.status} after {self.steps} steps ({self.epochs} epochs, {clock(self.seconds)}): {self.reason}"
        if self.metrics:
            yield "  validation   " + "  ".join(f"{name} {figure(value)}" for name, value in self.metrics.items())
        if self.best:
            yield f"  best         {self.best['metric']} {figure(self.best['value'])} at step {self.best['step']}"
        yield f"  throughput   {figure(self.samples_per_s)} samples/s on {plural(self.workers, 'worker')}"
        yield f"  travelled    {size(self.sent_bytes)} sent by each worker"
        yield f"  run folder   {self.folder}"
        if self.status == "stopped":
            yield f"  go on with   stretto resume {self.folder}"
