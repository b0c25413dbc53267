"""The worker's end: asks for parcels ahead of time and takes them when they are needed."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections import deque
from typing import Final

from torch import Tensor

from stretto.communicate.frame import Limits
from stretto.communicate.parcel import LARGEST_BYTES, Parcel, read
from stretto.communicate.parcel_connection import Arrival, ParcelConnection, call, hang_up, prepare
from stretto.communicate.parcel_message import (
    LARGEST_MESSAGE_BYTES,
    SLOTS,
    Answered,
    Asked,
    Failed,
    decode_answer,
    encode,
    failure,
)
from stretto.communicate.shared_memory import Slots
from stretto.errors import PeerLost, StrettoError, WireError

HELD_LIMIT: Final = SLOTS // 4
OUTSTANDING_LIMIT: Final = SLOTS // 2
_REPLY_S: Final = 5.0
_GONE: Final = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)


class ParcelClient:
    """A connection to a `ParcelServer`: requests go out at once, their answers are taken in any order.

    The tensors of a parcel may be changed in place. In shared memory they occupy a slot until the last of them is
    forgotten, views included; who keeps very many parcels gets copies, and the slots stay few. When the server has
    gone, `ask` and `take` raise `PeerLost` at once, and what was taken before stays as it is. For one thread; `close`
    may be called from any.
    """

    def __init__(self, connection: ParcelConnection, address: str, limits: Limits) -> None:
        self.address = address
        self.received_bytes = 0
        self._connection = connection
        self._limits = limits
        self._slots = Slots()
        self._asked: deque[int] = deque()
        self._answered = 0
        self._arrived: dict[int, Parcel | StrettoError] = {}
        self._broken: StrettoError | None = None
        self._poll = select.poll()
        self._poll.register(connection.socket, select.POLLIN | select.POLLOUT | _GONE)
        self._incoming = select.poll()
        self._incoming.register(connection.socket, select.POLLIN | _GONE)

    @classmethod
    def dial(
        cls, address: str, key: bytes, *, timeout_s: float = 20.0, largest_bytes: int = LARGEST_BYTES
    ) -> ParcelClient:
        """Call a server, again and again until `timeout_s` is over.

        Raises `PeerLost` when nobody answers there, `WireError` when who answers does not hold the key.
        """
        limits = Limits(header_bytes=LARGEST_MESSAGE_BYTES, payload_bytes=largest_bytes)
        deadline_s = time.monotonic() + timeout_s
        while True:
            try:
                return cls(_connected(address, key, limits), address, limits)
            except OSError as error:
                if time.monotonic() >= deadline_s:
                    raise PeerLost(f"no batches are handed out at {address}: {error}") from error
                time.sleep(0.05)

    @property
    def outstanding(self) -> int:
        """How many parcels were asked for and not taken yet."""
        return len(self._asked) + len(self._arrived)

    def ask(self, request: bytes) -> int:
        """Ask for a parcel without waiting for it; the ticket is for `take`."""
        self._check()
        if self.outstanding >= OUTSTANDING_LIMIT:
            raise WireError(f"{self.outstanding} parcels are asked for and not taken; take some of them first")
        slot = self._slots.reserve()
        try:
            data = self._connection.seal(encode(Asked(slot, request)))
        except WireError:
            self._slots.release(slot)
            raise
        self._send(memoryview(data))
        self._asked.append(slot)
        return self._answered + len(self._asked) - 1

    def take(self, ticket: int) -> Parcel:
        """The parcel for a ticket, once; waits for it. Raises what answering raised, in the words of the server."""
        while ticket not in self._arrived:
            if not self._answered <= ticket < self._answered + len(self._asked):
                raise ValueError(f"nothing is due for ticket {ticket}: it was taken, or is not of this connection")
            self._check()
            self._arrive()
        found = self._arrived.pop(ticket)
        if isinstance(found, StrettoError):
            raise found
        return found

    def comes(self, ticket: int, wait_s: float) -> bool:
        """Whether `take` would have an answer, or a loss to tell, within `wait_s`."""
        known = ticket in self._arrived or self._broken is not None  # the socket's number may be another's by now
        return known or bool(self._incoming.poll(1000 * wait_s))

    def close(self) -> None:
        """Hang up; parcels that were taken stay as they are. Safe to call twice."""
        self._end(PeerLost(f"the connection to {self.address} was closed"))

    def _check(self) -> None:
        if self._broken is not None:
            raise _again(self._broken)

    def _end(self, reason: StrettoError) -> StrettoError:
        """Hang up for a reason that every later call says again; the first one counts."""
        if self._broken is None:
            self._broken = _again(reason)
            hang_up(self._connection.socket)
            self._connection.socket.close()
            self._slots.forget()
        return _again(self._broken)

    def _lost(self, error: OSError) -> StrettoError:
        return self._end(PeerLost(f"{self.address} hands out no batches any more: {error}"))

    def _send(self, data: memoryview) -> None:
        """Send everything; to a server that is sending itself we listen meanwhile, or both would wait forever."""
        try:
            while data:
                happened = self._poll.poll()[0][1]
                if happened & _GONE:
                    raise ConnectionResetError("the connection was closed")
                if happened & select.POLLOUT:
                    with contextlib.suppress(BlockingIOError):
                        data = data[self._connection.socket.send(data, socket.MSG_DONTWAIT) :]
                else:
                    self._arrive()
        except OSError as error:
            raise self._lost(error) from error

    def _arrive(self) -> None:
        """Wait for the next answer and put it where `take` finds it."""
        try:
            arrival = self._connection.receive(memory=True)
            with contextlib.closing(arrival):
                if not self._asked:
                    raise WireError("an answer was refused: nothing was asked")
                self._arrived[self._answered] = self._understood(arrival, self._asked[0])
        except OSError as error:
            raise self._lost(error) from error
        except WireError as error:
            raise self._end(error) from error
        self._asked.popleft()
        self._answered += 1

    def _understood(self, arrival: Arrival, slot: int) -> Parcel | StrettoError:
        message = decode_answer(arrival.header)
        if arrival.descriptor is not None:
            self._slots.replace(slot, arrival.descriptor)
        if isinstance(message, Failed):
            self._slots.release(slot)
            return failure(message)
        block = self._block(message, arrival.payload, slot)
        self.received_bytes += len(block)
        return Parcel(header=message.header, tensors=read(message.places, block))

    def _block(self, message: Answered, payload: Tensor, slot: int) -> Tensor:
        """Where the tensors lie: behind the message, or in shared memory, or in a copy where too many are held."""
        if len(payload) == message.block_bytes:
            self._slots.release(slot)
            return payload
        self._limits.check(0, message.block_bytes)
        block = self._slots.block(slot, message.block_bytes)
        return block.clone() if self._slots.used - len(self._asked) >= HELD_LIMIT else block


def _connected(address: str, key: bytes, limits: Limits) -> ParcelConnection:
    sock = _call(address)
    try:
        prepare(sock)
        connection = call(sock, key, f"the server at {address}", limits)
        sock.settimeout(None)
    except BaseException:
        sock.close()
        raise
    return connection


def _again(error: StrettoError) -> StrettoError:
    """The same error without its traceback, which would keep the memory of a parcel alive."""
    return type(error)(str(error))


def _call(address: str) -> socket.socket:
    kind, _, place = address.partition(":")
    host, _, port = place.rpartition(":")
    if kind == "tcp" and host and port.isdecimal():
        return socket.create_connection((host, int(port)), timeout=_REPLY_S)
    if kind != "unix" or not place.startswith("@"):
        raise WireError(f'"{address}" is no address of parcels; expected unix:@name or tcp:host:port')
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(_REPLY_S)
    try:
        sock.connect(f"\0{place[1:]}")
    except BaseException:
        sock.close()
        raise
    return sock
