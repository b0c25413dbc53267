"""The engine `inline`: agents and workers are threads of this process, for tests, debuggers and live objects."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stretto.communicate.control_client import ControlClient, ControlConnection
from stretto.communicate.membership_event import SlotEnded
from stretto.communicate.messages import Assignment, Hello
from stretto.errors import PeerLost, WireError
from stretto.launch.agent import Agent
from stretto.launch.engine import Abilities
from stretto.launch.worker import carry_out

_ABILITIES: Final = Abilities(add=True, independent=True, self_heals=False, gang=False, remote=False)
_KILLED: Final = -9
_PATIENCE_S: Final = 5.0


class ThreadedWorker:
    """A thread that carries out one assignment.

    A thread cannot be killed: `kill` hangs up on it, so that it ends at its next word to the coordinator; if it does
    not within a few seconds it is given up and counts as ended. Its environment and output are this process's own.
    """

    def __init__(
        self, assignment: Assignment, client: ControlClient, objects: Mapping[str, Any], wake: Callable[[], None]
    ) -> None:
        self._client = client
        self._wake = wake
        self._code: int | None = None
        self._killed_s: float | None = None
        name = f"stretto-worker-{assignment.rank}"
        self._thread = threading.Thread(target=self._live, args=(assignment, objects), name=name, daemon=True)
        self._thread.start()

    def terminate(self) -> None:
        """Nothing: a thread has no signals."""

    def kill(self) -> None:
        """Hang up on it."""
        self._killed_s = self._killed_s or time.monotonic()
        self._client.close()

    def ended(self) -> int | None:
        """Its exit code; None while it runs and was not given up."""
        if self._killed_s is None:
            return self._code
        given_up = time.monotonic() - self._killed_s > _PATIENCE_S
        return _KILLED if given_up or self._code is not None else None

    def _live(self, assignment: Assignment, objects: Mapping[str, Any]) -> None:
        code = carry_out(assignment, self._client, objects)
        self._client.close()
        self._code = code
        self._wake()


class InlineEngine:
    """Starts each agent as a thread of this process."""

    def __init__(self, *, objects: Mapping[str, Any] | None = None) -> None:
        self._objects = dict(objects or {})
        self._threads: dict[int, threading.Thread] = {}
        self._address = ("127.0.0.1", 0)
        self._key = b""

    @property
    def abilities(self) -> Abilities:
        """Slots come and go one by one, all in this process."""
        return _ABILITIES

    def advertise(self) -> str:
        """Loopback: nobody else needs to reach the coordinator."""
        return "127.0.0.1"

    def open(self, address: tuple[str, int], key: bytes, let_go: Callable[[], None]) -> None:
        """Remember where the coordinator is."""
        self._address, self._key = address, key

    def start(self, slots: Sequence[int]) -> None:
        """Start the agents' threads."""
        for slot in slots:
            thread = threading.Thread(target=self._run, args=(slot,), name=f"stretto-agent-{slot}", daemon=True)
            self._threads[slot] = thread
            thread.start()

    def poll(self) -> list[SlotEnded]:
        """The agents that have ended."""
        ended = [slot for slot, thread in self._threads.items() if not thread.is_alive()]
        for slot in ended:
            del self._threads[slot]
        return [SlotEnded(slot=slot, code=0) for slot in ended]

    def stop(self, slots: Sequence[int], grace_s: float) -> None:
        """Wait for the agents to leave; a thread cannot be made to."""
        deadline_s = time.monotonic() + grace_s
        for slot in slots:
            if slot in self._threads:
                self._threads[slot].join(max(0.0, deadline_s - time.monotonic()))

    def capacity(self) -> int | None:
        """Threads are not limited."""
        return None

    def command(self, slots: Sequence[int]) -> list[list[str]]:
        """Nothing is executed: the slots are threads."""
        return [[] for _ in slots]

    def close(self) -> None:
        """Wait for the agents, which leave when the coordinator's connections are closed."""
        self.stop(list(self._threads), 2 * _PATIENCE_S)
        self._threads.clear()

    def _run(self, slot: int) -> None:
        wakened, waking = socket.socketpair()
        waking.setblocking(False)

        def wake() -> None:
            with contextlib.suppress(OSError):
                waking.send(b"\0")

        def hire(assignment: Assignment) -> ThreadedWorker:
            hello = Hello(role="worker", slot=slot, view=assignment.view, attempt=assignment.attempt, pid=os.getpid())
            connection = ControlConnection.dial(self._address, self._key, hello)
            return ThreadedWorker(assignment, ControlClient(connection), self._objects, wake)

        with wakened, waking, contextlib.suppress(PeerLost, WireError):
            hello = Hello(role="agent", slot=slot, pid=os.getpid())
            Agent(ControlConnection.dial(self._address, self._key, hello), hire, wakened).run()
