"""One process's place in a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Where one process sits and what it may use: `rank` among its role, `local_rank` among those on its host."""

    id: int
    role: str = "worker"
    rank: int
    local_rank: int
    host: str = "localhost"
    device: str = "cpu"
    threads: int = 1
