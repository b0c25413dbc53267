"""Several seats in one process: each a thread that takes its turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from stretto.communicate.memory import MemoryTransport, MemoryWorld

Answer = TypeVar("Answer")


def together(size: int, act: Callable[[MemoryTransport], Answer]) -> list[Answer]:
    """Let every seat run `act`; return their answers in the order of ranks, or raise the error that is the cause."""
    world = MemoryWorld(size)
    answers: dict[int, Any] = {}
    errors: dict[int, BaseException] = {}

    def body(rank: int) -> None:
        try:
            with world.seat(rank) as transport:
                answers[rank] = act(transport)
        except BaseException as error:
            errors[rank] = error

    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((e for e in errors.values() if type(e).__name__ != "PeerLost"), next(iter(errors.values())))
    return [answers[rank] for rank in range(size)]
