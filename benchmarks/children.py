"""Processes that a benchmark forks: one that answers with a number, and ones that serve until they are ended."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[str], object]


@contextmanager
def child(act: Callable[[Tell], object]) -> Iterator[str]:
    """A process in which `act` runs, and the line that it tells; killed at the end, unless it has ended by itself."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reading)
            act(lambda line: os.write(writing, line.encode() + b"\n"))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            line = told.readline().strip()
            if not line:
                raise SystemExit("a process of the benchmark failed; what it said is above")
            yield line
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def measured(act: Callable[[], float]) -> float:
    """What `act` finds in a process of its own, which shares nothing with other measurements."""
    with child(lambda tell: tell(repr(act()))) as told:
        return float(told)
