"""The engine `local`: agents are processes on this host."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from stretto.communicate.membership_event import SlotEnded
from stretto.errors import StrettoError
from stretto.launch.agent import run_forking
from stretto.launch.engine import Abilities
from stretto.launch.forked import fork
from stretto.launch.lifeline import die_with

_ABILITIES: Final = Abilities(add=True, independent=True, self_heals=False, gang=False, remote=False)
_LOOPBACK: Final = "127.0.0.1"


class _Process(Protocol):
    pid: int

    def poll(self) -> int | None: ...


class LocalEngine:
    """Starts each agent as a new Python process in a session of its own.

    With `objects` the agents are forked from this process instead, so that workers have live Python objects, a model
    that was built here for example, without anything being pickled.
    """

    def __init__(self, *, objects: Mapping[str, Any] | None = None) -> None:
        self._objects = dict(objects or {})
        self._processes: dict[int, _Process] = {}
        self._ended: list[SlotEnded] = []
        self._address = (_LOOPBACK, 0)
        self._key = b""
        self._let_go: Callable[[], None] = _nothing

    @property
    def abilities(self) -> Abilities:
        """Slots come and go one by one, all on this host."""
        return _ABILITIES

    def advertise(self) -> str:
        """Loopback: nobody else needs to reach the coordinator."""
        return _LOOPBACK

    def open(self, address: tuple[str, int], key: bytes, let_go: Callable[[], None]) -> None:
        """Remember where the coordinator is; refuses objects where forking is unsafe."""
        if self._objects:
            _check_fork()
        self._address, self._key, self._let_go = address, key, let_go

    def start(self, slots: Sequence[int]) -> None:
        """Start the agents' processes."""
        for slot in slots:
            self._processes[slot] = self._fork(slot) if self._objects else self._spawn(slot)

    def poll(self) -> list[SlotEnded]:
        """The agents that have ended."""
        for slot, process in list(self._processes.items()):
            if (code := process.poll()) is not None:
                del self._processes[slot]
                self._ended.append(SlotEnded(slot=slot, code=code))
        ended, self._ended = self._ended, []
        return ended

    def stop(self, slots: Sequence[int], grace_s: float) -> None:
        """Wait up to `grace_s` for the agents to leave, then kill them."""
        deadline_s = time.monotonic() + grace_s
        for slot in slots:
            process = self._processes.get(slot)
            if process is None:
                continue
            while process.poll() is None and time.monotonic() < deadline_s:
                time.sleep(0.005)
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                while process.poll() is None:
                    time.sleep(0.002)

    def capacity(self) -> int | None:
        """Processes are not limited."""
        return None

    def command(self, slots: Sequence[int]) -> list[list[str]]:
        """The agents' command lines; forked agents have none, what is shown is what they are equivalent to."""
        host, port = self._address
        start = [sys.executable, "-P", "-m", "stretto.launch.agent", "--coordinator", f"{host}:{port}", "--slot"]
        return [[*start, str(slot)] for slot in slots]

    def close(self) -> None:
        """Kill what is left."""
        self.stop(list(self._processes), 0.0)
        self._processes.clear()

    def _spawn(self, slot: int) -> _Process:
        process = subprocess.Popen(
            self.command([slot])[0],
            env=os.environ | {"PYTHONPATH": _import_path()},
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError), process.stdin:  # it may have ended already, as `poll` will tell
                process.stdin.write(self._key)
        return process

    def _fork(self, slot: int) -> _Process:
        parent = os.getpid()
        pid = fork()
        if pid == 0:
            code = 1
            try:
                os.setsid()
                die_with(parent)
                _reset_interrupts()
                self._let_go()
                run_forking(slot, self._address, self._key, self._objects)
                code = 0
            finally:
                os._exit(code)
        return _Forked(pid)


class _Forked:
    """A forked agent with the few methods of `subprocess.Popen` that are used here."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code


def _import_path() -> str:
    """Where this process finds a person's own modules, so that agents find the same ones."""
    installed = (sys.prefix, sys.base_prefix, sys.exec_prefix)
    own = [path or str(Path.cwd()) for path in sys.path if not path.startswith(installed)]
    return os.pathsep.join(own)


def _check_fork() -> None:
    """Refuse what a forked process could not use; `sys.modules` tells whether torch was used at all."""
    torch = sys.modules.get("torch")
    if not hasattr(os, "fork") or sys.platform == "darwin":
        problem = "this system cannot fork a process safely"
    elif torch is not None and torch.cuda.is_initialized():
        problem = "CUDA was used in this process, and a forked process could not go on with it"
    else:
        return
    raise StrettoError(
        f"the engine local cannot hand live objects to other processes here: {problem}; "
        'name the model and data as "module:attribute", or use the engine inline'
    )


def _reset_interrupts() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _nothing() -> None:
    """What is let go of when nothing was inherited."""
