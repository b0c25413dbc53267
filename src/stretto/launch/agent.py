"""The agent: one per slot, the same on every engine. It dials back, imports ahead, and keeps one worker at a time.

It runs no operation of torch itself, so forking it is safe, and a worker that is asked for begins within milliseconds.
It reports its worker's end, beats, and never outlives its connection.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Sequence

from stretto.communicate.control_client import ControlConnection
from stretto.communicate.messages import Hello, Message, Prepared, Welcome
from stretto.errors import PeerLost, WireError
from stretto.launch.forked import Nursery
from stretto.launch.lifeline import die_with
from stretto.launch.slot import Action, Depart, EndWorker, Say, Slot, StartWorker
from stretto.launch.worker import Hire, Worker


class Agent:
    """Runs one slot on a connection until it is told to leave, or the connection is lost.

    `wakened` is a socket that gets a byte whenever the worker may have ended.
    """

    def __init__(self, connection: ControlConnection, hire: Hire, wakened: socket.socket) -> None:
        self._connection = connection
        self._hire = hire
        self._wakened = wakened
        self._slot = Slot()
        self._worker: Worker | None = None
        self._beat_s = 1.0
        self._next_beat_s = 0.0
        self._departed = False

    def run(self) -> None:
        """Work until the end; afterwards there is no worker."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._connection, selectors.EVENT_READ)
            selector.register(self._wakened, selectors.EVENT_READ)
            try:
                while not self._departed:
                    self._turn(selector)
            except PeerLost:
                return
            finally:
                self._end_worker()
                self._connection.close()

    def _turn(self, selector: selectors.BaseSelector) -> None:
        for key, _events in selector.select(self._pause_s()):
            if key.fileobj is self._connection:
                for message in self._connection.receive():
                    self._on_message(message)
            else:
                self._wakened.recv(1024)
        if self._worker is not None and (code := self._worker.ended()) is not None:
            self._worker = None
            self._obey(self._slot.on_worker_ended(code))
        now_s = time.monotonic()
        self._obey(self._slot.on_tick(now_s))
        if now_s >= self._next_beat_s and not self._departed:
            self._next_beat_s = now_s + self._beat_s
            self._connection.send(self._slot.beat())

    def _pause_s(self) -> float:
        until_s = min(self._next_beat_s, self._slot.kill_at_s or self._next_beat_s)
        return max(0.0, until_s - time.monotonic())

    def _on_message(self, message: Message) -> None:
        if isinstance(message, Welcome):
            self._beat_s = message.beat_s
            _import_ahead(message.preload)
            self._connection.send(Prepared())
        else:
            self._obey(self._slot.on_message(message, time.monotonic()))

    def _obey(self, actions: Sequence[Action]) -> None:
        for action in actions:
            match action:
                case StartWorker():
                    self._worker = self._hire(action.assignment)
                case EndWorker() if self._worker is not None:
                    (self._worker.kill if action.force else self._worker.terminate)()
                case Say():
                    self._connection.send(action.message)
                case Depart():
                    self._departed = True

    def _end_worker(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            while self._worker.ended() is None:
                time.sleep(0.005)


def run_forking(slot: int, address: tuple[str, int], key: bytes, objects: dict[str, object]) -> None:
    """Be the agent of a slot in this process, with forked workers; returns when the run is over."""
    wakened, waking = socket.socketpair()
    for sock in (wakened, waking):
        sock.setblocking(False)
    signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    connection = ControlConnection.dial(address, key, Hello(role="agent", slot=slot, pid=os.getpid()))

    def let_go() -> None:
        connection.let_go()
        wakened.close()
        waking.close()

    with wakened, waking:
        Agent(connection, Nursery(address, key, objects, let_go), wakened).run()


def main(arguments: Sequence[str] | None = None) -> None:
    """`python -m stretto.launch.agent --coordinator 127.0.0.1:4000 --slot 0`.

    The run's key comes through standard input, so that it stands in no file, environment or list of processes.
    """
    parser = argparse.ArgumentParser(prog="stretto agent", description="Keep one slot of a run.")
    parser.add_argument("--coordinator", required=True, metavar="HOST:PORT")
    parser.add_argument("--slot", required=True, type=int)
    options = parser.parse_args(arguments)
    die_with(os.getppid())
    host, _, port = options.coordinator.rpartition(":")
    key = sys.stdin.buffer.read()
    try:
        run_forking(options.slot, (host, int(port)), key, {})
    except (PeerLost, WireError) as error:
        sys.exit(f"stretto: the agent of slot {options.slot} has to end: {error}")


def _import_ahead(modules: Sequence[str]) -> None:
    for module in modules:
        # What cannot be imported here raises again in the worker, where its traceback is reported.
        with contextlib.suppress(Exception):
            importlib.import_module(module)


if __name__ == "__main__":
    main()
