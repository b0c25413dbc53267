"""What seats are sent to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What all seats are to do: a function by name, the text it gets, live objects, where output and ledger go."""

    entry: str
    payload: str
    objects: Mapping[str, Any]
    log: Callable[[int], Path] | None = None
    ledger: Path | None = None


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The text for a worker that trains: the plan, the run folder, and whether it goes on from a checkpoint."""

    plan: str
    folder: str
    go_on: bool
