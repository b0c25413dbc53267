"""What a run tells about itself, one fact at a time."""

from __future__ import annotations

import math
import time
from typing import Any, Final

import msgspec

KINDS: Final = (
    "run_started",
    "training_started",
    "view_started",
    "worker_ready",
    "progress",
    "validated",
    "checkpoint_saved",
    "checkpoint_damaged",
    "sample_damaged",
    "best",
    "shares",
    "restarted",
    "replaced",
    "warning",
    "stopping",
    "finished",
    "failed",
)

_NOT_FINITE: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One fact about a run: what happened, where it stood then, and the values that belong to it.

    `samples` counts what all workers together have consumed; `time_s` is the wall clock in seconds since 1970.

    >>> Event(kind="progress", seat=0, step=10, values={"loss": 0.5}).values["loss"]
    0.5
    """

    kind: str
    seat: int | None = None
    step: int | None = None
    epoch: int | None = None
    samples: int | None = None
    time_s: float = msgspec.field(default_factory=time.time)
    values: dict[str, Any] = {}

    def to_line(self) -> bytes:
        """Write the event as one line of JSON; numbers that JSON lacks become the words nan, inf and -inf."""
        return msgspec.json.encode(msgspec.structs.replace(self, values=_spelled(self.values))) + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Event:
        """Read what `to_line` wrote; raises `ValueError` for anything else."""
        try:
            event = msgspec.json.decode(line, type=cls)
        except msgspec.MsgspecError as error:
            raise ValueError(f"this line is no event: {error}") from error
        return msgspec.structs.replace(event, values=_numbered(event.values))


def _spelled(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _spelled(inner) for key, inner in value.items()}
    return [_spelled(inner) for inner in value] if isinstance(value, list | tuple) else value


def _numbered(value: Any) -> Any:
    if isinstance(value, str):
        return _NOT_FINITE.get(value, value)
    if isinstance(value, dict):
        return {key: _numbered(inner) for key, inner in value.items()}
    return [_numbered(inner) for inner in value] if isinstance(value, list) else value
