"""The handshake: both sides prove that they hold the key, and each connection has keys of its own."""

from __future__ import annotations

import pytest

from stretto.communicate import control, handshake
from stretto.communicate.messages import StopTraining
from stretto.errors import WireError

KEY, OTHER = b"k" * 32, b"o" * 32
CALLERS, SERVERS = b"c" * 32, b"s" * 32


def sessions(callers_key=KEY, servers_key=KEY, callers=CALLERS, servers=SERVERS):
    reply, coordinator = control.answer(servers_key, handshake.opening(callers), servers)
    return control.accept(callers_key, callers, reply), coordinator


def test_both_sides_understand_each_other_afterwards():
    caller, coordinator = sessions()
    message = StopTraining(reason="enough")
    assert coordinator.open(caller.seal(message, view=3)) == [(message, 3)]
    assert caller.open(coordinator.seal(message)) == [(message, 0)]


def test_a_coordinator_without_the_key_is_not_trusted():
    with pytest.raises(WireError, match="could not prove that it holds this run's key"):
        sessions(servers_key=OTHER)


def test_a_caller_without_the_key_cannot_say_anything():
    _reply, coordinator = control.answer(KEY, handshake.opening(CALLERS), SERVERS)
    impostor = control.answer(OTHER, handshake.opening(CALLERS), SERVERS)[1]
    with pytest.raises(WireError, match="key"):
        coordinator.open(impostor.seal(StopTraining(reason="mine")))


def test_what_was_heard_on_one_connection_means_nothing_on_another():
    first, _ = sessions()
    _, second = sessions(servers=b"t" * 32)
    with pytest.raises(WireError):
        second.open(first.seal(StopTraining(reason="again")))


def test_what_one_side_said_cannot_be_sent_back_to_it():
    caller, _ = sessions()
    with pytest.raises(WireError):
        caller.open(caller.seal(StopTraining(reason="mirror")))


@pytest.mark.parametrize("received", [b"", b"GET / HTTP/1.1\r\n\r\n".ljust(37), b"STRO\x63" + bytes(32), bytes(37)])
def test_who_does_not_speak_the_protocol_is_refused(received):
    with pytest.raises(WireError, match="a connection was refused"):
        control.answer(KEY, received, SERVERS)
