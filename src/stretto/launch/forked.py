"""Workers that are processes, forked from their agent with everything imported already."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stretto.communicate.control_client import Address, ControlClient, ControlConnection
from stretto.communicate.messages import Assignment, Hello
from stretto.errors import PeerLost, WireError
from stretto.launch.allocation import keep_freed_memory
from stretto.launch.lifeline import die_with
from stretto.launch.worker import carry_out


class ForkedWorker:
    """A forked process that carries out one assignment; it leads a process group, so its own children end with it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._signal(signal.SIGKILL)

    def ended(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def _signal(self, number: signal.Signals) -> None:
        if self._code is not None:
            return
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            # The child has not made itself the leader of its group yet.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Nursery:
    """Forks workers for one slot.

    `objects` is what they inherit of a process that was forked itself; `let_go` closes, in the child, what is the
    agent's own.
    """

    def __init__(self, address: Address, key: bytes, objects: Mapping[str, Any], let_go: Callable[[], None]) -> None:
        self._address = address
        self._key = key
        self._objects = objects
        self._let_go = let_go

    def __call__(self, assignment: Assignment) -> ForkedWorker:
        """Fork a worker; in the child this never returns."""
        agent = os.getpid()
        # What exists now is not looked at by the worker's collector, so its pages stay shared.
        gc.freeze()
        pid = fork()
        if pid == 0:
            code = 1
            try:
                code = self._live(assignment, agent)
            finally:
                _leave(code)
        return ForkedWorker(pid)

    def _live(self, assignment: Assignment, agent: int) -> int:
        os.setpgid(0, 0)
        die_with(agent)
        _reset_signals()
        keep_freed_memory()
        self._let_go()
        os.environ.update(assignment.environment)
        if assignment.log is not None:
            _redirect(Path(assignment.log))
        turn = {"view": assignment.view, "attempt": assignment.attempt}
        hello = Hello(role="worker", slot=assignment.slot, pid=os.getpid(), **turn)
        try:
            connection = ControlConnection.dial(self._address, self._key, hello)
        except (PeerLost, WireError):
            return 1
        client = ControlClient(connection, on_lost=lambda: os._exit(1))
        if not self._objects or assignment.environment.get("OMP_NUM_THREADS") == "1":
            return self._work(assignment, client)
        # The process that the objects come from may have computed with several threads. OpenMP believes that the
        # forking thread still has them and waits forever; in a new thread it starts afresh. (A worker with one thread
        # never asks OpenMP, and memory of the main thread is reused better: a ResNet's step was a tenth faster there.)
        codes: list[int] = []
        thread = threading.Thread(target=lambda: codes.append(self._work(assignment, client)))
        thread.start()
        thread.join()
        return codes[0] if codes else 1

    def _work(self, assignment: Assignment, client: ControlClient) -> int:
        try:
            return carry_out(assignment, client, self._objects)
        finally:
            client.close()


def fork() -> int:
    """Fork this process, which holds no thread that the child needs."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # Python warns of any thread, also of those that numerical libraries keep and look after themselves.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def _redirect(log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    for number, name in ((1, "stdout"), (2, "stderr")):
        setattr(sys, name, os.fdopen(number, "w", buffering=1, closefd=False))


def _leave(code: int) -> None:
    """Leave without running the exit handlers inherited from the agent, which are not this process's to run."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
