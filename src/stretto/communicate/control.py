"""The control connection apart from its sockets: the handshake, the keys that come of it, and what can happen.

Both sides hold the run's key. The caller sends a random number, the coordinator answers with one of its own and a proof
over both that only a holder of the key can make; from the two numbers each direction gets its own key. The caller
proves itself by its first frame, which nobody else can seal. So each side knows the other, and no frame of one
connection means anything on another.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from stretto.communicate.frame import MAGIC, VERSION, Frame, Limits, Opener, Sealer
from stretto.communicate.messages import Hello, Message, decode, encode
from stretto.errors import WireError

NONCE_BYTES: Final = 32
OPENING_BYTES: Final = len(MAGIC) + 1 + NONCE_BYTES
REPLY_BYTES: Final = 2 * NONCE_BYTES


@dataclass(frozen=True, slots=True)
class Peer:
    """One connection that has proved itself: its number, unique in this server, and how it introduced itself."""

    number: int
    hello: Hello


@dataclass(frozen=True, slots=True)
class Connected:
    """A peer has connected and said hello."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class Arrived:
    """A peer has sent a message."""

    peer: Peer
    message: Message


@dataclass(frozen=True, slots=True)
class Lost:
    """A peer's connection has ended, for this reason."""

    peer: Peer
    reason: str


class Session:
    """One authenticated connection: seals messages of one view, opens those of the other side."""

    def __init__(self, sending_key: bytes, receiving_key: bytes, limits: Limits | None = None) -> None:
        self._sealer = Sealer(sending_key, limits)
        self._opener = Opener(receiving_key, limits)

    def seal(self, message: Message, view: int = 0) -> bytes:
        """The message as bytes for the socket."""
        return self._sealer.seal(Frame(header=encode(message), view=view))

    def open(self, data: bytes) -> list[tuple[Message, int]]:
        """The messages that are complete with `data`, each with its view; `WireError` ends the session."""
        return [(decode(frame.header), frame.view) for frame in self._opener.feed(data)]


def opening(nonce: bytes) -> bytes:
    """The caller's first bytes."""
    return MAGIC + bytes([VERSION]) + nonce


def answer(key: bytes, received: bytes, nonce: bytes) -> tuple[bytes, Session]:
    """The coordinator's reply to an opening, and its side of the session; `WireError` when it is no opening."""
    if len(received) != OPENING_BYTES or received[: len(MAGIC)] != MAGIC:
        raise WireError("a connection was refused: it does not speak Stretto's control protocol")
    if received[len(MAGIC)] != VERSION:
        raise WireError(f"a connection was refused: version {received[len(MAGIC)]}, this side speaks {VERSION}")
    both = received[-NONCE_BYTES:] + nonce
    session = Session(_derived(key, b"to caller", both), _derived(key, b"to coordinator", both))
    return nonce + _derived(key, b"proof", both), session


def accept(key: bytes, nonce: bytes, reply: bytes) -> Session:
    """The caller's side of the session; `WireError` when the coordinator could not prove that it holds the key."""
    both = nonce + reply[:NONCE_BYTES]
    if len(reply) != REPLY_BYTES or not hmac.compare_digest(reply[NONCE_BYTES:], _derived(key, b"proof", both)):
        raise WireError("the coordinator could not prove that it holds this run's key; is its address right?")
    return Session(_derived(key, b"to coordinator", both), _derived(key, b"to caller", both))


def _derived(key: bytes, purpose: bytes, nonces: bytes) -> bytes:
    return blake2b(nonces, key=key, digest_size=32, person=purpose.ljust(16, b"\0")).digest()
