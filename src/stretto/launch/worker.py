"""A worker as its agent sees it, and what every worker does, whatever it is made of."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from stretto.communicate.control_client import ControlClient
from stretto.communicate.messages import Assignment
from stretto.errors import PeerLost
from stretto.launch.failure import explain_failure

Entry = Callable[[Assignment, ControlClient, Mapping[str, Any]], dict[str, Any]]


class Worker(Protocol):
    """A started worker: a process, or a thread in the inline engine."""

    def terminate(self) -> None:
        """Ask it to end."""
        ...

    def kill(self) -> None:
        """End it, whatever it does."""
        ...

    def ended(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        ...


Hire = Callable[[Assignment], Worker]


def carry_out(assignment: Assignment, client: ControlClient, objects: Mapping[str, Any]) -> int:
    """Call the assignment's entry, tell the coordinator how it ended, and return the exit code.

    Everything is caught, `SystemExit` included: the coordinator must hear of it in words.
    """
    try:
        client.done(find_entry(assignment.entry)(assignment, client, objects))
        return 0
    except BaseException as error:
        failure = explain_failure(error)
        with contextlib.suppress(PeerLost):
            client.failed(failure)
        if assignment.log is not None:
            with contextlib.suppress(OSError):  # a full disk may be what has failed
                print(failure.trace, flush=True)
        return 1


def find_entry(name: str) -> Entry:
    """The function that "module:function" names."""
    module, _, attribute = name.partition(":")
    entry: Entry = getattr(importlib.import_module(module), attribute)
    return entry
