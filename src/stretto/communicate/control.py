"""The control connection apart from its sockets: the sessions that come of a handshake, and what can happen."""

from __future__ import annotations

from dataclasses import dataclass

from stretto.communicate import handshake
from stretto.communicate.frame import Frame, Limits, Opener, Sealer
from stretto.communicate.handshake import Keys
from stretto.communicate.messages import Hello, Message, decode, encode


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

    def __init__(self, keys: Keys, limits: Limits | None = None) -> None:
        self._sealer = Sealer(keys.sending, limits)
        self._opener = Opener(keys.receiving, limits)

    def seal(self, message: Message, view: int = 0) -> bytes:
        """The message as bytes for the socket."""
        return self._sealer.seal(Frame(header=encode(message), view=view))

    def open(self, data: bytes) -> list[tuple[Message, int]]:
        """The messages that are complete with `data`, each with its view; `WireError` ends the session."""
        return [(decode(frame.header), frame.view) for frame in self._opener.feed(data)]


def answer(key: bytes, received: bytes, nonce: bytes) -> tuple[bytes, Session]:
    """The coordinator's reply to an opening, and its side of the session; `WireError` when it is no opening."""
    reply, keys = handshake.answer(key, received, nonce)
    return reply, Session(keys)


def accept(key: bytes, nonce: bytes, reply: bytes) -> Session:
    """The caller's side of the session; `WireError` when the coordinator could not prove that it holds the key."""
    return Session(handshake.accept(key, nonce, reply, "the coordinator"))
