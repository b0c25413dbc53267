"""A worker's connections to the sampling nodes: it asks the idlest, and another one again when that has died."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Final

from stretto.communicate.parcel import Parcel
from stretto.communicate.parcel_client import ParcelClient
from stretto.errors import PeerLost, StrettoError

LOOK_S: Final = 0.2
PATIENCE_S: Final = 120.0
STALL_S: Final = 2.0
STALLS: Final = 10
AVOIDED_S: Final = 30.0

Find = Callable[[int, float], str | None]


@dataclass(slots=True)
class Asked:
    """A request under way: what was asked, on which connection, and the ticket there."""

    request: bytes
    client: ParcelClient
    ticket: int


class Samplers:
    """Asks sampling nodes, any of which can answer anything, so one that is gone costs time and nothing else.

    `find(sampler, wait_s)` tells where a node is, or None if that does not become known within `wait_s`. One that was
    lost is looked for now and then: who replaces it has another address. When none has been there for two minutes,
    `PeerLost` is raised. One that takes ten times longer than anybody ever did (and two seconds) is left alone for a
    while, as long as there is another. For one thread.
    """

    def __init__(self, count: int, find: Find, key: bytes) -> None:
        self._find, self._key = find, key
        self._clients: dict[int, ParcelClient] = {}
        self._gone: dict[int, tuple[str | None, float]] = dict.fromkeys(range(count), (None, 0.0))
        self._longest_s = 0.0
        self._looked_s = -LOOK_S
        self._told: list[Asked] = []

    def ask(self, request: bytes) -> Asked:
        """Ask whoever has the least to do, without waiting for the answer."""
        while True:
            sampler, client = self._idlest()
            try:
                asked = Asked(request, client, client.ask(request))
            except PeerLost:
                self._lose(client)
            else:
                # To the end: of several that are equally idle, the one that was asked longest ago comes next.
                self._clients[sampler] = self._clients.pop(sampler)
                return asked

    def take(self, asked: Asked) -> Parcel:
        """Wait for an answer; it is asked for again elsewhere when the node has died."""
        while True:
            begun_s = time.monotonic()
            try:
                if len(self._clients) == 1 or asked.client.comes(asked.ticket, max(STALL_S, STALLS * self._longest_s)):
                    parcel = asked.client.take(asked.ticket)
                    self._longest_s = max(self._longest_s, time.monotonic() - begun_s)
                    return parcel
                self._lose(asked.client, avoided_s=AVOIDED_S)
            except PeerLost:
                self._lose(asked.client)
            again = self.ask(asked.request)
            asked.client, asked.ticket = again.client, again.ticket

    def forget(self, asked: Asked) -> None:
        """Have nothing more to do with an answer that is on its way: its room is free again."""
        with suppress(StrettoError):
            asked.client.take(asked.ticket)

    def tell(self, request: bytes) -> None:
        """Say something to all nodes that are there; whether they have heard it is looked at the next time."""
        told, self._told = self._told, []
        for asked in told:
            self.forget(asked)
        for client in list(self._clients.values()):
            with suppress(PeerLost):  # whoever asks it next will notice
                self._told.append(Asked(request, client, client.ask(request)))

    def close(self) -> None:
        """Hang up."""
        for client in self._clients.values():
            client.close()

    def _idlest(self) -> tuple[int, ParcelClient]:
        deadline_s = time.monotonic() + PATIENCE_S
        self._look(0.0)
        while not self._clients:
            if time.monotonic() > deadline_s:
                raise PeerLost(f"none of {len(self._gone)} sampling nodes has been there for {PATIENCE_S:g} s")
            self._look(LOOK_S)
        return min(self._clients.items(), key=lambda each: each[1].outstanding)

    def _lose(self, lost: ParcelClient, avoided_s: float = inf) -> None:
        """Do without a node: at this address for so long, at another one at once."""
        lost.close()
        for sampler, client in list(self._clients.items()):
            if client is lost:
                del self._clients[sampler]
                self._gone[sampler] = lost.address, time.monotonic() + avoided_s

    def _look(self, wait_s: float) -> None:
        """Connect to nodes that are new, if some are missing; without time to wait only now and then."""
        if not self._gone or (not wait_s and self._clients and time.monotonic() - self._looked_s < LOOK_S):
            return
        self._looked_s = time.monotonic()
        for sampler, (before, again_s) in list(self._gone.items()):
            address = self._find(sampler, wait_s)
            if address is not None and (address != before or self._looked_s > again_s):
                self._connect(sampler, address)

    def _connect(self, sampler: int, address: str) -> None:
        try:
            self._clients[sampler] = ParcelClient.dial(address, self._key, timeout_s=1.0)
            del self._gone[sampler]
        except PeerLost:
            self._gone[sampler] = address, inf
