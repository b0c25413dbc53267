"""How a connection begins: both sides prove that they hold the run's key, and each direction gets a key of its own.

The caller sends a random number, the server answers with one of its own and a proof over both that only a holder of the
key can make. The caller proves itself by its first frame, which nobody else can seal. So each side knows the other, and
no frame of one connection means anything on another.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from stretto.communicate.frame import MAGIC, VERSION
from stretto.errors import WireError

NONCE_BYTES: Final = 32
OPENING_BYTES: Final = len(MAGIC) + 1 + NONCE_BYTES
REPLY_BYTES: Final = 2 * NONCE_BYTES


@dataclass(frozen=True, slots=True)
class Keys:
    """What one side of a connection seals with, and what it opens the other side's frames with."""

    sending: bytes
    receiving: bytes


def opening(nonce: bytes) -> bytes:
    """The caller's first bytes."""
    return MAGIC + bytes([VERSION]) + nonce


def answer(key: bytes, received: bytes, nonce: bytes) -> tuple[bytes, Keys]:
    """The server's reply to an opening, and its keys; `WireError` when it is no opening."""
    if len(received) != OPENING_BYTES or received[: len(MAGIC)] != MAGIC:
        raise WireError("a connection was refused: it does not speak Stretto's protocol")
    if received[len(MAGIC)] != VERSION:
        raise WireError(f"a connection was refused: version {received[len(MAGIC)]}, this side speaks {VERSION}")
    both = received[-NONCE_BYTES:] + nonce
    keys = Keys(_derived(key, b"to caller", both), _derived(key, b"to server", both))
    return nonce + _derived(key, b"proof", both), keys


def accept(key: bytes, nonce: bytes, reply: bytes, who: str) -> Keys:
    """The caller's keys; `WireError` when the server, named `who`, could not prove that it holds the key."""
    both = nonce + reply[:NONCE_BYTES]
    if len(reply) != REPLY_BYTES or not hmac.compare_digest(reply[NONCE_BYTES:], _derived(key, b"proof", both)):
        raise WireError(f"{who} could not prove that it holds this run's key; is its address right?")
    return Keys(_derived(key, b"to server", both), _derived(key, b"to caller", both))


def of_purpose(key: bytes, purpose: bytes) -> bytes:
    """The key that connections of one purpose begin with, so that none can be passed off as one of another."""
    return _derived(key, purpose, b"")


def _derived(key: bytes, purpose: bytes, nonces: bytes) -> bytes:
    return blake2b(nonces, key=key, digest_size=32, person=purpose.ljust(16, b"\0")).digest()
