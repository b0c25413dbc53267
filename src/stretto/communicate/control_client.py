"""The agents' and workers' end of the control plane."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec

from stretto.communicate import control, handshake
from stretto.communicate.control import Session
from stretto.communicate.messages import Answer, Beat, Done, Failed, Hello, Message, Ready, Report, Request
from stretto.errors import PeerLost, WireError
from stretto.observe.event import Event

Address = tuple[str, int]
_CHUNK_BYTES: Final = 64 * 1024
_REPLY_S: Final = 5.0
_GONE: Final = "the coordinator has gone"


class ControlConnection:
    """A connection to the coordinator that proved itself both ways: send, receive, nothing else and no thread.

    `parcel_key` is what the run's seats prove themselves with towards each other.
    """

    def __init__(self, sock: socket.socket, session: Session, hello: Hello, parcel_key: bytes) -> None:
        self.hello = hello
        self.parcel_key = parcel_key
        self._socket = sock
        self._session = session
        self._sending = threading.Lock()

    @classmethod
    def dial(cls, address: Address, key: bytes, hello: Hello, *, timeout_s: float = 20.0) -> ControlConnection:
        """Call the coordinator, again and again until `timeout_s` is over.

        Raises `PeerLost` when nobody answers there, `WireError` when who answers does not hold the key.
        """
        deadline_s = time.monotonic() + timeout_s
        while True:
            try:
                return cls._dial_once(address, key, hello)
            except OSError as error:
                if time.monotonic() >= deadline_s:
                    raise PeerLost(f"no coordinator answers at {address[0]}:{address[1]}: {error}") from error
                time.sleep(0.05)

    @classmethod
    def _dial_once(cls, address: Address, key: bytes, hello: Hello) -> ControlConnection:
        sock = socket.create_connection(address, timeout=_REPLY_S)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            nonce = os.urandom(handshake.NONCE_BYTES)
            sock.sendall(handshake.opening(nonce))
            session = control.accept(key, nonce, _receive_exactly(sock, handshake.REPLY_BYTES))
            sock.sendall(session.seal(hello, hello.view))
            sock.settimeout(None)
        except BaseException:
            sock.close()
            raise
        return cls(sock, session, hello, handshake.of_purpose(key, b"parcels"))

    def fileno(self) -> int:
        """For a selector."""
        return self._socket.fileno()

    def send(self, message: Message) -> None:
        """Send one message; any thread may. Raises `PeerLost` when the coordinator has gone."""
        with self._sending:
            data = self._session.seal(message, self.hello.view)
            try:
                self._socket.sendall(data)
            except OSError as error:
                raise PeerLost(_GONE) from error

    def receive(self) -> list[Message]:
        """Wait until bytes come and return the messages that are complete with them, often none.

        Raises `PeerLost` when the coordinator has gone. One thread only.
        """
        try:
            data = self._socket.recv(_CHUNK_BYTES)
            messages = self._session.open(data)
        except (OSError, WireError) as error:
            raise PeerLost(f"{_GONE}: {error}") from error
        if not data:
            raise PeerLost(_GONE)
        return [message for message, _view in messages]

    def hang_up(self) -> None:
        """Say that nothing more will be sent; the coordinator then closes, and `receive` raises `PeerLost`.

        Closing at once instead could make the system throw away what was sent last, if something came in unread.
        """
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def let_go(self) -> None:
        """In a forked process: close the inherited socket without ending the parent's connection."""
        self._socket.close()

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class ControlClient:
    """A worker's line to the coordinator, for all of its threads: requests with answers, reports, and what is pushed.

    A thread of its own reads and beats, so `pushed` costs nothing worth speaking of when nothing came. `on_lost` is
    called from that thread when the coordinator has gone; afterwards every method raises `PeerLost`.
    """

    def __init__(
        self, connection: ControlConnection, *, beat_s: float = 1.0, on_lost: Callable[[], None] | None = None
    ) -> None:
        self.hello, self.parcel_key = connection.hello, connection.parcel_key
        self._connection = connection
        self._beat_s = beat_s
        self._on_lost = on_lost
        self._pushed: deque[Message] = deque()
        self._answers: dict[int, Answer] = {}
        self._changed = threading.Condition()
        self._numbered = 0
        self._lost: str | None = None
        self._closing = False
        self._reader = threading.Thread(target=self._read, name="stretto-control", daemon=True)
        self._reader.start()

    def send(self, message: Message) -> None:
        """Send a message that has no answer."""
        self._check()
        self._connection.send(message)

    def request(self, message: Request, timeout_s: float = 60.0) -> Answer:
        """Send a request and wait for its answer; `PeerLost` when none comes within `timeout_s`."""
        return self.answer(self.ask(message), timeout_s)

    def ask(self, message: Request) -> int:
        """Send a request and return its number, by which `answered` and `answer` know it."""
        with self._changed:
            self._numbered += 1
            number = self._numbered
        self.send(msgspec.structs.replace(message, request=number))
        return number

    def answered(self, number: int, wait_s: float = 0.0) -> bool:
        """Whether the answer to a request has come, or comes within `wait_s`."""
        if number not in self._answers and wait_s:
            with self._changed:
                self._changed.wait_for(lambda: number in self._answers or self._lost is not None, wait_s)
        return number in self._answers

    def answer(self, number: int, timeout_s: float = 60.0) -> Answer:
        """Wait for the answer to a request; `PeerLost` when none comes within `timeout_s`."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._answers or self._lost is not None, timeout_s)
            answer = self._answers.pop(number, None)
        if answer is None:
            self._check()
            raise PeerLost(f"the coordinator has not answered for {timeout_s:g} s")
        return answer

    def pushed(self) -> list[Message]:
        """What the coordinator has said since the last call; meant to be asked once per step."""
        if not self._pushed:
            if self._lost is not None:
                self._check()
            return []
        return [self._pushed.popleft() for _ in range(len(self._pushed))]

    def await_push(self) -> list[Message]:
        """Wait until the coordinator says something, and return it."""
        with self._changed:
            self._changed.wait_for(lambda: self._pushed or self._lost is not None)
        return self.pushed()

    def ready(self) -> None:
        """Say that this worker has met its peers."""
        self.send(Ready())

    def report(self, event: Event) -> None:
        """Hand a fact to the sinks of the launching process."""
        self.send(Report(event=event))

    def done(self, result: dict[str, Any]) -> None:
        """Say that this worker has finished, with its result."""
        self.send(Done(result=result))

    def failed(self, failure: Failed) -> None:
        """Say that this worker's code raised."""
        self.send(failure)

    def close(self) -> None:
        """Hang up and end the reading thread; safe to call twice."""
        self._closing = True
        self._connection.hang_up()
        if self._reader is not threading.current_thread():
            self._reader.join(timeout=1.0)
        self._connection.close()

    def _check(self) -> None:
        if self._lost is not None:
            raise PeerLost(self._lost)

    def _read(self) -> None:
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._connection, selectors.EVENT_READ)
                while True:
                    if selector.select(self._beat_s):
                        self._sort(self._connection.receive())
                    else:
                        self._connection.send(Beat(view=self.hello.view, running=True))
        except (PeerLost, OSError, ValueError) as error:
            self._end(str(error))

    def _sort(self, messages: list[Message]) -> None:
        with self._changed:
            for message in messages:
                if isinstance(message, Answer):
                    self._answers[message.request] = message
                else:
                    self._pushed.append(message)
            self._changed.notify_all()

    def _end(self, reason: str) -> None:
        with self._changed:
            self._lost = "the connection to the coordinator was closed" if self._closing else reason
            self._changed.notify_all()
        if self._on_lost is not None and not self._closing:
            self._on_lost()


def _receive_exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            raise ConnectionResetError("the coordinator hung up during the handshake")
        data += piece
    return data
