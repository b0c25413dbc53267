"""Seats that are threads: run one function on each and collect what they return."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from stretto.communicate.memory import MemoryTransport, MemoryWorld


def run_seats(size: int, body: Callable[[MemoryTransport], Any]) -> list[Any]:
    """Run `body` on every seat of a world and return the results in the order of ranks; the first error is raised."""
    world = MemoryWorld(size)
    results: list[Any] = [None] * size
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            with world.seat(rank) as transport:
                results[rank] = body(transport)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    if errors:
        raise errors[0]
    return results
