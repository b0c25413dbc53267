"""Small tensors between processes of one host, straight from each to each."""

from __future__ import annotations

import os
import socket
import struct
import tempfile
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path

from stretto.errors import PeerLost

HEADER = struct.Struct("<II")  # channel, length
RANK = struct.Struct("<I")
BUFFER_BYTES = 1 << 20
LONGEST_PATH = 90  # the system's own limit for a socket's path is 107 characters
LARGEST_BYTES = 1 << 14  # above this a collective of torch.distributed is quicker


class Mesh:
    """A Unix socket between every two seats of a host.

    A collective of gloo takes 0.4 to 1.5 ms however small its tensor is; an exchange here takes some 0.1 ms. It
    carries what is small and frequent: tallies, statistics of batch normalisation. The sockets lie in a folder that
    only this user may enter. A peer that dies closes its end, and `collect` raises `PeerLost` at once.
    """

    def __init__(self, rank: int, peers: dict[int, socket.socket]) -> None:
        self.rank, self.size = rank, len(peers) + 1
        self._peers = peers
        self._early: dict[tuple[int, int], deque[bytes]] = defaultdict(deque)
        self._unread = {other: bytearray() for other in peers}
        self._lock = threading.RLock()

    @classmethod
    def form(cls, rank: int, size: int, tell: Callable[[bytes], list[bytes]], timeout_s: float) -> Mesh | None:
        """Connect every two seats, if all are on one host; `tell` hands each seat's bytes to all: a barrier too."""
        if len(set(tell(_this_host()))) > 1:
            return None
        with tempfile.TemporaryDirectory(prefix="stretto-") as own, socket.socket(socket.AF_UNIX) as listener:
            folder = Path(tell(own.encode())[0].decode())
            if len(os.fsencode(folder)) > LONGEST_PATH:
                return None
            listener.settimeout(timeout_s)
            listener.bind(str(folder / str(rank)))
            listener.listen(size)
            tell(b"listening")
            try:
                peers = {other: _call(folder / str(other), rank, timeout_s) for other in range(rank)}
                while len(peers) < size - 1:
                    incoming, _ = listener.accept()
                    incoming.settimeout(timeout_s)
                    peers[RANK.unpack(_receive(incoming, RANK.size))[0]] = incoming
            except OSError as error:
                raise PeerLost(f"a seat of this host did not come to the meeting: {error}") from error
            tell(b"met")  # only then may the folder go
        return cls(rank, peers)

    def send(self, channel: int, content: bytes) -> None:
        """Send the same bytes to every other seat."""
        frame = HEADER.pack(channel, len(content)) + content
        with self._lock:
            for rank, peer in self._peers.items():
                try:
                    peer.sendall(frame)
                except OSError as error:
                    raise PeerLost(f"seat {rank} has gone: {error}") from error

    def collect(self, channel: int, own: bytes) -> list[bytes]:
        """Return the next bytes of every seat on a channel, in the order of ranks, waiting for the slowest."""
        with self._lock:
            return [own if rank == self.rank else self._next(rank, channel) for rank in range(self.size)]

    def close(self) -> None:
        """Close every connection."""
        for peer in self._peers.values():
            peer.close()

    def _next(self, rank: int, channel: int) -> bytes:
        waiting = self._early[rank, channel]
        while not waiting:
            self._read(rank)
        return waiting.popleft()

    def _read(self, rank: int) -> None:
        """Take what has come from a seat, mostly one whole message, in one call to the system."""
        unread = self._unread[rank]
        try:
            received = self._peers[rank].recv(BUFFER_BYTES)
        except OSError as error:
            raise PeerLost(f"seat {rank} has gone: {error}") from error
        if not received:
            raise PeerLost(f"seat {rank} has gone: connection closed")
        unread += received
        while len(unread) >= HEADER.size:
            channel, length = HEADER.unpack_from(unread)
            if length > LARGEST_BYTES:
                raise PeerLost(f"seat {rank} announced {length} bytes where {LARGEST_BYTES} are the most")
            end = HEADER.size + length
            if len(unread) < end:
                return
            self._early[rank, channel].append(bytes(unread[HEADER.size : end]))
            del unread[:end]


def _call(path: Path, rank: int, timeout_s: float) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(timeout_s)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
    peer.connect(str(path))
    peer.sendall(RANK.pack(rank))
    return peer


def _this_host() -> bytes:
    """What tells hosts apart, containers that share a name included."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{socket.gethostname()} {boot.read_text() if boot.exists() else uuid.getnode()}".encode()


def _receive(connection: socket.socket, length: int) -> bytes:
    content = bytearray(length)
    view = memoryview(content)
    while view:
        received = connection.recv_into(view)
        if not received:
            raise ConnectionResetError("connection closed")
        view = view[received:]
    return bytes(content)
