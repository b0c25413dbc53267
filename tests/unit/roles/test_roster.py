"""The roster: who is on the line for a slot, and who is not any more."""

from __future__ import annotations

import pytest

from stretto.communicate.control import Peer
from stretto.communicate.messages import Hello, Leave
from stretto.roles.roster import Roster


class Switchboard:
    """A server that remembers what was sent to whom."""

    def __init__(self):
        self.sent, self.dropped = [], []

    def send(self, peer, message):
        self.sent.append((peer.number, message))

    def drop(self, peer):
        self.dropped.append(peer.number)


def peer(number, role="agent", slot=0):
    return Peer(number, Hello(role=role, slot=slot, pid=1))


@pytest.fixture
def server():
    return Switchboard()


def test_messages_reach_who_is_entered(server):
    roster = Roster(server)
    roster.enter(peer(1))
    roster.enter(peer(2, "worker"))
    roster.tell_agents((0, 1), Leave())
    roster.tell_workers((0, 1), Leave())
    assert server.sent == [(1, Leave()), (2, Leave())]


def test_who_was_replaced_is_not_heard_and_its_end_is_no_news(server):
    roster = Roster(server)
    roster.enter(peer(1))
    roster.enter(peer(2))
    assert not roster.has(peer(1))
    assert roster.has(peer(2))
    assert not roster.remove(peer(1))
    assert roster.remove(peer(2))
    assert roster.agents == ()


def test_dropping_a_slot_hangs_up_on_its_agent_and_its_worker(server):
    roster = Roster(server)
    for each in (peer(1), peer(2, "worker"), peer(3, slot=1)):
        roster.enter(each)
    roster.drop(0)
    roster.drop(0)
    assert server.dropped == [1, 2]
    assert roster.agents == (1,)


def test_forgotten_workers_are_not_heard(server):
    roster = Roster(server)
    roster.enter(peer(2, "worker"))
    roster.forget_workers()
    assert not roster.has(peer(2, "worker"))
