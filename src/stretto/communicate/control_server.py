"""The coordinator's end of the control plane: one thread, many connections, none of which can harm another."""

from __future__ import annotations

import ipaddress
import os
import selectors
import socket
import time
from collections import deque
from typing import Final

from stretto.communicate import control, handshake
from stretto.communicate.control import Arrived, Connected, Lost, Peer, Session
from stretto.communicate.messages import Hello, Message
from stretto.errors import Fenced, WireError

SILENT_S: Final = 5.0
PENDING_LIMIT: Final = 128
ACCEPTS_PER_POLL: Final = 32
UNSENT_LIMIT_BYTES: Final = 64 * 2**20
_CHUNK_BYTES: Final = 64 * 1024

Happening = Connected | Arrived | Lost


class _Connection:
    """One accepted socket: what it still has to prove, and what is still to be written to it."""

    def __init__(self, sock: socket.socket, deadline_s: float) -> None:
        self.socket = sock
        self.deadline_s = deadline_s
        self.opening = b""
        self.session: Session | None = None
        self.peer: Peer | None = None
        self.unsent = bytearray()


class ControlServer:
    """Listens on a loopback address, lets in who holds the key, and tells what happens; nothing here blocks but `poll`.

    Connections that do not prove themselves within `silent_s` are closed and counted in `refused`. When too many are
    waiting the oldest of them gives way, so that a flood cannot keep an honest caller out for long.
    """

    def __init__(self, key: bytes, host: str = "127.0.0.1", *, silent_s: float = SILENT_S) -> None:
        _check_loopback(host)
        self.key = key
        self.refused = 0
        self._silent_s = silent_s
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server((host, 0), backlog=1024, family=_family(host))
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._waking, self._wakened = socket.socketpair()
        self._waking.setblocking(False)
        self._wakened.setblocking(False)
        self._selector.register(self._wakened, selectors.EVENT_READ)
        self._pending: dict[_Connection, None] = {}
        self._peers: dict[int, _Connection] = {}
        self._happened: deque[Happening] = deque()
        self._numbered = 0

    @property
    def address(self) -> tuple[str, int]:
        """Where callers find this server."""
        host, port = self._listener.getsockname()[:2]
        return host, port

    def poll(self, timeout_s: float) -> list[Happening]:
        """What has happened since the last call; waits up to `timeout_s` for the first thing, or until `wake`."""
        for key, events in self._selector.select(0.0 if self._happened else timeout_s):
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj is self._wakened:
                _drain(self._wakened)
            else:
                self._serve(key.data, events)
        self._drop_silent()
        happened = list(self._happened)
        self._happened.clear()
        return happened

    def wake(self) -> None:
        """Let a waiting `poll` return; may be called from a signal handler or another thread."""
        try:
            self._waking.send(b"\0")
        except BlockingIOError:
            return

    def send(self, peer: Peer, message: Message) -> None:
        """Send a message; to a peer that has gone this does nothing, its loss is told by `poll`."""
        connection = self._peers.get(peer.number)
        if connection is not None and connection.session is not None:
            connection.unsent += connection.session.seal(message, peer.hello.view)
            self._write(connection)

    def drop(self, peer: Peer) -> None:
        """Close a peer's connection, after what was already given to the system; no `Lost` is told."""
        connection = self._peers.pop(peer.number, None)
        if connection is not None:
            self._forget(connection)

    def let_go(self) -> None:
        """In a forked process: close what was inherited of this server, without ending the parent's connections."""
        for connection in [*self._pending, *self._peers.values()]:
            connection.socket.close()
        for sock in (self._listener, self._waking, self._wakened):
            sock.close()

    def close(self) -> None:
        """Close every connection and the address; safe to call twice."""
        for connection in [*self._pending, *self._peers.values()]:
            self._forget(connection)
        self._peers.clear()
        for sock in (self._listener, self._waking, self._wakened):
            sock.close()
        self._selector.close()

    def _accept(self) -> None:
        for _ in range(ACCEPTS_PER_POLL):
            try:
                sock, _address = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                self._give_way()
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = _Connection(sock, time.monotonic() + self._silent_s)
            self._pending[connection] = None
            self._selector.register(sock, selectors.EVENT_READ, connection)
            if len(self._pending) > PENDING_LIMIT:
                self._give_way()

    def _give_way(self) -> None:
        """Close the connection that has waited longest without proving itself."""
        for connection in self._pending:
            self._end(connection, "too many callers")
            return

    def _serve(self, connection: _Connection, events: int) -> None:
        if connection.socket.fileno() < 0:
            return
        if events & selectors.EVENT_WRITE:
            self._write(connection)
        if events & selectors.EVENT_READ and connection.socket.fileno() >= 0:
            self._read(connection)

    def _read(self, connection: _Connection) -> None:
        try:
            data = connection.socket.recv(_CHUNK_BYTES)
            if not data:
                raise ConnectionResetError("the connection was closed")
            self._understand(connection, data)
        except BlockingIOError:
            return
        except (OSError, WireError) as error:
            self._end(connection, str(error))

    def _understand(self, connection: _Connection, data: bytes) -> None:
        if connection.session is None:
            data = self._shake_hands(connection, data)
        if connection.session is None or not data:
            return
        for message, view in connection.session.open(data):
            if connection.peer is None:
                connection.peer = self._introduced(connection, message, view)
            elif view != connection.peer.hello.view:
                raise Fenced(f"a message of view {view} came on a connection of view {connection.peer.hello.view}")
            else:
                self._happened.append(Arrived(connection.peer, message))

    def _shake_hands(self, connection: _Connection, data: bytes) -> bytes:
        """Collect the opening, answer it when it is whole, and return what came behind it."""
        missing = handshake.OPENING_BYTES - len(connection.opening)
        connection.opening += data[:missing]
        if len(connection.opening) == handshake.OPENING_BYTES:
            reply, session = control.answer(self.key, connection.opening, os.urandom(handshake.NONCE_BYTES))
            connection.session = session
            connection.unsent += reply
            self._write(connection)
        return data[missing:]

    def _introduced(self, connection: _Connection, message: Message, view: int) -> Peer:
        if not isinstance(message, Hello) or message.view != view or connection.socket.fileno() < 0:
            raise WireError("a connection was refused: its first message is no hello")
        self._numbered += 1
        peer = Peer(self._numbered, message)
        self._pending.pop(connection, None)
        self._peers[peer.number] = connection
        self._happened.append(Connected(peer))
        return peer

    def _write(self, connection: _Connection) -> None:
        try:
            sent = connection.socket.send(connection.unsent) if connection.unsent else 0
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._end(connection, str(error))
            return
        del connection.unsent[:sent]
        if len(connection.unsent) > UNSENT_LIMIT_BYTES:
            self._end(connection, f"it does not read: {len(connection.unsent)} bytes are waiting for it")
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.unsent else 0)
        self._selector.modify(connection.socket, wanted, connection)

    def _drop_silent(self) -> None:
        now_s = time.monotonic()
        while self._pending and (oldest := next(iter(self._pending))).deadline_s <= now_s:
            self._end(oldest, "it did not introduce itself")

    def _end(self, connection: _Connection, reason: str) -> None:
        if connection.socket.fileno() < 0:
            return
        self.refused += connection.peer is None
        self._forget(connection)
        if connection.peer is None:
            return
        if self._peers.pop(connection.peer.number, None) is not None:
            self._happened.append(Lost(connection.peer, reason))

    def _forget(self, connection: _Connection) -> None:
        self._pending.pop(connection, None)
        if connection.socket.fileno() >= 0:
            self._selector.unregister(connection.socket)
            connection.socket.close()


def _check_loopback(host: str) -> None:
    try:
        allowed = ipaddress.ip_address(host).is_loopback
    except ValueError:
        allowed = False
    if not allowed:
        raise WireError(
            f'the coordinator listens on loopback addresses only, "{host}" is none: '
            "encryption between hosts comes with the first engine that has several hosts; use 127.0.0.1"
        )


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _drain(sock: socket.socket) -> None:
    try:
        while sock.recv(1024):
            pass
    except BlockingIOError:
        return
