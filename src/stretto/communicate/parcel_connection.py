"""One connection on which parcels travel: the handshake and the frames, on a socket that waits."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import torch
from torch import Tensor

from stretto.communicate import handshake
from stretto.communicate.frame import START_BYTES, TAG_BYTES, Frame, Limits, Opener, Sealer
from stretto.communicate.handshake import Keys
from stretto.communicate.parcel_message import MESSAGES_ONLY
from stretto.errors import WireError

PIECE_BYTES: Final = 256 * 1024
HELLO: Final = b"hello"
_QUIET_S: Final = 10
_PURPOSE: Final = b"parcels"
Received = TypeVar("Received", bytes, memoryview)


@dataclass(slots=True)
class Arrival:
    """A frame that has come, and the descriptor of a memory file if it brought one, which the taker has to close."""

    header: bytearray
    payload: Tensor
    descriptor: int | None

    def close(self) -> None:
        """Close the descriptor; safe to call twice."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


class ParcelConnection:
    """A socket with keys of its own. One thread may send while another receives.

    Every call waits as long as it takes, but receiving not beyond `deadline_s` while that is set.
    """

    def __init__(self, sock: socket.socket, keys: Keys, sending: Limits, receiving: Limits) -> None:
        self.socket = sock
        self.on_one_host = sock.family == socket.AF_UNIX
        self.deadline_s: float | None = None
        self._sealer = Sealer(keys.sending, sending)
        self._opener = Opener(keys.receiving, receiving)

    def seal(self, header: bytes) -> bytes:
        """A frame without payload as bytes, which have to be sent next."""
        return self._sealer.seal(Frame(header=header))

    def send(self, header: bytes, descriptor: int | None = None) -> None:
        """Send a frame without payload, and a memory file along with its first byte."""
        data = memoryview(self.seal(header))
        if descriptor is not None:
            data = data[socket.send_fds(self.socket, [data], [descriptor]) :]
        if data:
            self.socket.sendall(data)

    def send_payload(self, header: bytes, payload: Tensor) -> None:
        """Send a frame whose payload goes piece by piece, so that the other side works on one while we do the next."""
        start, tag = self._sealer.begin(len(header), len(payload))
        tag.update(header)
        self.socket.sendall(start + header)
        content = payload.numpy().data
        for first in range(0, len(content), PIECE_BYTES):
            piece = content[first : first + PIECE_BYTES]
            tag.update(piece)
            self.socket.sendall(piece)
        self.socket.sendall(tag.digest())

    def receive(self, memory: bool = False) -> Arrival:
        """The next frame, its payload received in place; `WireError` for a bad one, `OSError` when there is no more.

        Without `memory` the system drops whatever descriptors come along.
        """
        descriptors: list[int] = []
        try:
            start, tag = self._opener.begin(
                self._first_bytes(descriptors) if memory and self.on_one_host else self._exactly(START_BYTES)
            )
            header, payload = bytearray(start.header_bytes), torch.empty(start.payload_bytes, dtype=torch.uint8)
            for part in (memoryview(header), payload.numpy().data):
                for piece in self._pieces(part):
                    tag.update(piece)
            self._opener.end(tag, self._exactly(TAG_BYTES))
            return Arrival(header, payload, descriptors.pop() if descriptors else None)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _first_bytes(self, descriptors: list[int]) -> bytes:
        """The start of a frame; a descriptor comes with its first byte, so it is never one of another frame."""
        start = b""
        while len(start) < START_BYTES:
            missing = START_BYTES - len(start)
            data, received, _flags, _from = socket.recv_fds(self.socket, missing, 1, socket.MSG_CMSG_CLOEXEC)
            descriptors += received
            start += _some(data)
        return start

    def _exactly(self, count: int) -> bytes:
        return _exactly(self.socket, count, self.deadline_s)

    def _pieces(self, view: memoryview) -> Iterator[memoryview]:
        """Fill the view with what comes, handing out what has come so far."""
        while view:
            _mind(self.socket, self.deadline_s)
            received = self.socket.recv_into(view[:PIECE_BYTES])
            yield _some(view[:received])
            view = view[received:]


def prepare(sock: socket.socket) -> None:
    """Let small frames go at once, and let the system notice a host that has gone without a word."""
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_KEEPIDLE"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _QUIET_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _QUIET_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)


def hang_up(sock: socket.socket) -> None:
    """End the connection at once, also for a thread that waits on it and for forked processes that hold it too."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def call(sock: socket.socket, key: bytes, who: str, receiving: Limits) -> ParcelConnection:
    """The caller's side of a new connection, when both sides have proved that they hold the key."""
    key, nonce = handshake.of_purpose(key, _PURPOSE), os.urandom(handshake.NONCE_BYTES)
    sock.sendall(handshake.opening(nonce))
    keys = handshake.accept(key, nonce, _exactly(sock, handshake.REPLY_BYTES), who)
    connection = ParcelConnection(sock, keys, MESSAGES_ONLY, receiving)
    connection.send(HELLO)
    _check_hello(connection)
    return connection


def meet(sock: socket.socket, key: bytes, sending: Limits, deadline_s: float) -> ParcelConnection:
    """The server's side of a new connection; `WireError` or `OSError` when the caller does not prove itself in time."""
    received = _exactly(sock, handshake.OPENING_BYTES, deadline_s)
    reply, keys = handshake.answer(handshake.of_purpose(key, _PURPOSE), received, os.urandom(handshake.NONCE_BYTES))
    sock.sendall(reply)
    connection = ParcelConnection(sock, keys, sending, MESSAGES_ONLY)
    connection.deadline_s = deadline_s
    _check_hello(connection)
    connection.deadline_s = None
    sock.settimeout(None)
    connection.send(HELLO)
    return connection


def _check_hello(connection: ParcelConnection) -> None:
    if connection.receive().header != HELLO:
        raise WireError("a connection was refused: its first message is no hello")


def _exactly(sock: socket.socket, count: int, deadline_s: float | None = None) -> bytes:
    data = b""
    while len(data) < count:
        _mind(sock, deadline_s)
        data += _some(sock.recv(count - len(data)))
    return data


def _mind(sock: socket.socket, deadline_s: float | None) -> None:
    if deadline_s is not None:
        sock.settimeout(max(deadline_s - time.monotonic(), 0.001))


def _some(data: Received) -> Received:
    if not data:
        raise ConnectionResetError("the connection was closed")
    return data
