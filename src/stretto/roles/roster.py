"""Who is on the line: at most one agent and one worker for each slot."""

from __future__ import annotations

from collections.abc import Iterable

from stretto.communicate.control import Peer
from stretto.communicate.control_server import ControlServer
from stretto.communicate.messages import Message


class Roster:
    """Finds the connections of a slot; who is not entered here, or was replaced, is not heard."""

    def __init__(self, server: ControlServer) -> None:
        self._server = server
        self._agents: dict[int, Peer] = {}
        self._workers: dict[int, Peer] = {}

    @property
    def agents(self) -> tuple[int, ...]:
        """The slots whose agents are on the line."""
        return tuple(self._agents)

    @property
    def workers(self) -> tuple[int, ...]:
        """The slots whose workers are on the line."""
        return tuple(self._workers)

    def enter(self, peer: Peer) -> None:
        """Count this connection as its slot's from now on."""
        self._entries(peer)[peer.hello.slot] = peer

    def has(self, peer: Peer) -> bool:
        """Whether this connection is its slot's."""
        return self._entries(peer).get(peer.hello.slot) == peer

    def remove(self, peer: Peer) -> bool:
        """Forget a connection that has ended; False when it was not its slot's any more."""
        if not self.has(peer):
            return False
        del self._entries(peer)[peer.hello.slot]
        return True

    def drop(self, slot: int) -> None:
        """Hang up on a slot's agent and on its worker."""
        for entries in (self._agents, self._workers):
            peer = entries.pop(slot, None)
            if peer is not None:
                self._server.drop(peer)

    def forget_workers(self) -> None:
        """Hear no worker that is on the line now."""
        self._workers.clear()

    def tell_agents(self, slots: Iterable[int], message: Message) -> None:
        """Send a message to the agents of these slots, as far as they are there."""
        self._tell(self._agents, slots, message)

    def tell_workers(self, slots: Iterable[int], message: Message) -> None:
        """Send a message to the workers of these slots, as far as they are there."""
        self._tell(self._workers, slots, message)

    def _tell(self, entries: dict[int, Peer], slots: Iterable[int], message: Message) -> None:
        for slot in slots:
            if slot in entries:
                self._server.send(entries[slot], message)

    def _entries(self, peer: Peer) -> dict[int, Peer]:
        return self._agents if peer.hello.role == "agent" else self._workers
