"""The contract of every role: what a process is, for as long as it runs."""

from __future__ import annotations

from typing import Any, Protocol


class Role(Protocol):
    """Who a process is: a worker, a parameter server, the coordinator. `run.py` assembles it, and runs it once."""

    def run(self) -> dict[str, Any]:
        """Do the role's work to its end and return its result, which must be expressible in JSON.

        Raises a `StrettoError` when the run cannot go on; whatever the role started has ended by then.
        """
        ...
