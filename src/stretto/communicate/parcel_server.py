"""The sampling node's end: answers the requests of many callers with parcels, none of which waits for another."""

from __future__ import annotations

import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Final

from torch import Tensor

from stretto.communicate.frame import Limits
from stretto.communicate.parcel import LARGEST_BYTES, Parcel, lay_out, write
from stretto.communicate.parcel_carrier import Carrier, carrier
from stretto.communicate.parcel_connection import ParcelConnection, hang_up, meet, prepare
from stretto.communicate.parcel_message import (
    LARGEST_MESSAGE_BYTES,
    Answered,
    Asked,
    decode_request,
    encode,
    failed,
)
from stretto.errors import WireError

SILENT_S: Final = 5.0
PENDING_LIMIT: Final = 128
_CLOSING_S: Final = 5.0
_BACKLOG: Final = 1024
_CREDENTIALS: Final = struct.Struct("3i")
_SHORT_OF_DESCRIPTORS_S: Final = 0.05


class ParcelServer:
    """Calls `answer` with each request, in a thread for each caller, and hands over the parcel that it returns.

    Callers find it at `address`: "unix:@stretto-parcels-…" or "tcp:10.0.0.7:4711". Without a host it listens on a Unix
    socket without a file, so that nothing is left whatever is killed, and tensors travel in shared memory; other users
    are turned away. With a host it listens on a port of it, and tensors travel as bytes, authenticated but not
    encrypted. What `answer` raises is raised at the caller,
    who may go on asking. Who does not prove within `silent_s` that he holds the key, or sends what is no request, is
    hung up on and counted in `refused`.
    """

    def __init__(
        self,
        key: bytes,
        answer: Callable[[bytes], Parcel],
        *,
        host: str | None = None,
        largest_bytes: int = LARGEST_BYTES,
        silent_s: float = SILENT_S,
    ) -> None:
        self.refused = 0
        self.served_bytes = 0
        self._key = key
        self._produce = answer
        self._limits = Limits(header_bytes=LARGEST_MESSAGE_BYTES, payload_bytes=largest_bytes)
        self._silent_s = silent_s
        self._lock = threading.Lock()
        self._pending: dict[socket.socket, None] = {}
        self._callers: dict[socket.socket, threading.Thread] = {}
        self._closing = threading.Event()
        self._listener, self.address = _listen(host)
        self._accepting = threading.Thread(target=self._accept, name="stretto-parcels-accept", daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """End every connection and thread; safe to call twice."""
        with self._lock:
            self._closing.set()
            callers = dict(self._callers)
        for sock in (self._listener, *callers):
            hang_up(sock)
        for thread in (self._accepting, *callers.values()):
            if thread is not threading.current_thread():
                thread.join(_CLOSING_S)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                sock, _address = self._listener.accept()
            except OSError:
                self._give_way()
                self._closing.wait(_SHORT_OF_DESCRIPTORS_S)
            else:
                self._begin(sock)

    def _begin(self, sock: socket.socket) -> None:
        thread = threading.Thread(target=self._serve, args=(sock,), name="stretto-parcels-caller", daemon=True)
        with self._lock:
            if self._closing.is_set():
                sock.close()
                return
            self._pending[sock] = None
            self._callers[sock] = thread
            thread.start()
            crowded = len(self._pending) > PENDING_LIMIT
        if crowded:
            self._give_way()

    def _give_way(self) -> None:
        """Hang up on the caller who has waited longest without proving himself."""
        with self._lock:
            oldest = next(iter(self._pending), None)
            if oldest is not None:
                del self._pending[oldest]
                hang_up(oldest)

    def _serve(self, sock: socket.socket) -> None:
        """One caller's thread: until he goes, lies or the server is closed."""
        try:
            connection = self._meet(sock)
            way = carrier(connection)
            try:
                while True:
                    self._answer(way, decode_request(connection.receive().header))
            finally:
                way.close()
        except WireError:
            with self._lock:
                self.refused += 1
        except OSError:
            return
        finally:
            with self._lock:
                self._pending.pop(sock, None)
                del self._callers[sock]
                sock.close()

    def _meet(self, sock: socket.socket) -> ParcelConnection:
        try:
            _turn_away_others(sock)
            prepare(sock)
            connection = meet(sock, self._key, self._limits, time.monotonic() + self._silent_s)
        except OSError as error:
            raise WireError(f"a caller did not prove himself: {error}") from error
        with self._lock:
            self._pending.pop(sock, None)
        return connection

    def _answer(self, way: Carrier, asked: Asked) -> None:
        try:
            message, block = self._prepared(way, asked)
        except Exception as error:
            message, block = encode(failed(error)), way.block(asked.slot, 0)
        way.send(message, block)
        with self._lock:
            self.served_bytes += len(block)

    def _prepared(self, way: Carrier, asked: Asked) -> tuple[bytes, Tensor]:
        parcel = self._produce(asked.request)
        places, block_bytes = lay_out(parcel.tensors)
        message = encode(Answered(parcel.header, places, block_bytes))
        self._limits.check(len(message), block_bytes)
        block = way.block(asked.slot, block_bytes)
        write(parcel.tensors, places, block)
        return message, block


def _listen(host: str | None) -> tuple[socket.socket, str]:
    """A listening socket and its address; on systems without files in memory, which are not Linux, one on loopback."""
    if host is not None or not hasattr(os, "memfd_create"):
        return _listen_on(host or "127.0.0.1")
    name = f"stretto-parcels-{secrets.token_hex(16)}"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0{name}")
    listener.listen(_BACKLOG)
    return listener, f"unix:@{name}"


def _turn_away_others(sock: socket.socket) -> None:
    """Only processes of this user may be given what lies in memory."""
    if sock.family == socket.AF_UNIX:
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _pid, user, _group = _CREDENTIALS.unpack(credentials)
        if user != os.getuid():
            raise WireError(f"a caller was turned away: it belongs to user {user}, this run to {os.getuid()}")


def _listen_on(host: str) -> tuple[socket.socket, str]:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, 0), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise WireError(
            f'batches cannot be handed out at "{host}": {error}; name an address of this machine, or none'
        ) from error
    return listener, f"tcp:{host}:{listener.getsockname()[1]}"
