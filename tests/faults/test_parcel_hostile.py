"""Hostile callers of a sampling node, and hostile nodes: who is honest is served, or told what is wrong."""

from __future__ import annotations

import contextlib
import os
import random
import socket
from pathlib import Path

import pytest
import torch
from parcel_world import KEY, TRANSPORTS, descriptors, dialled, fetch, served, threads

from stretto.communicate import handshake
from stretto.communicate.frame import Frame, Limits, Sealer
from stretto.communicate.handshake import Keys
from stretto.communicate.parcel import Place
from stretto.communicate.parcel_client import ParcelClient
from stretto.communicate.parcel_connection import HELLO, ParcelConnection
from stretto.communicate.parcel_message import Answered, Asked, encode
from stretto.communicate.parcel_server import PENDING_LIMIT
from stretto.communicate.shared_memory import create
from stretto.errors import PeerLost, WireError

by_both_ways = pytest.mark.parametrize("transport", TRANSPORTS)


def raw(server):
    kind, _, place = server.address.partition(":")
    if kind == "tcp":
        host, port = place.split(":")
        return socket.create_connection((host, int(port)), timeout=5.0)
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(place.replace("@", "\0"))
    sock.settimeout(5.0)
    return sock


def opened(server):
    """A socket and its keys, as an honest caller has them before he says hello."""
    sock, nonce = raw(server), os.urandom(32)
    key = handshake.of_purpose(KEY, b"parcels")
    sock.sendall(handshake.opening(nonce))
    reply = b""
    while len(reply) < handshake.REPLY_BYTES:
        reply += sock.recv(handshake.REPLY_BYTES)
    return sock, handshake.accept(key, nonce, reply, "the server")


def is_closed(sock):
    try:
        while sock.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    finally:
        sock.close()
    return True


def was_hung_up_on_after(sock, byte):
    """Send a byte and listen for a moment."""
    try:
        sock.sendall(bytes([byte]))
        return sock.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def is_served(client):
    """Twice: when the second answer comes, the server has put away what the first one needed."""
    return [fetch(client).tensors[0].sum() for _ in range(2)] == [10, 10]


def flipped(frame):
    return frame[:-1] + bytes([frame[-1] ^ 1])


def are_refused(server, number):
    """Wait for all callers but the first, who is honest, and compare. Who dials last is accepted last."""
    with dialled(server):
        for thread in threads("stretto-parcels-caller")[1:-1]:
            thread.join(10.0)
    for thread in threads("stretto-parcels-caller")[1:]:
        thread.join(10.0)
    return server.refused == number


@by_both_ways
def test_two_thousand_hostile_connections_do_not_keep_an_honest_one_from_being_served(transport):
    chance = random.Random(1)
    with served(transport) as server, dialled(server) as honest:
        for number in range(2000):
            with raw(server) as sock, contextlib.suppress(ConnectionError):
                sock.sendall(chance.randbytes(chance.randint(0, 200)))
                if number % 3 == 0:
                    sock.sendall(handshake.opening(chance.randbytes(32)) + chance.randbytes(100))
            if number % 200 == 0:
                assert is_served(honest)
        assert is_served(honest)
        assert are_refused(server, 2000)


@by_both_ways
def test_two_thousand_mutated_requests_end_their_own_connections_only(transport):
    chance = random.Random(2)
    with served(transport) as server, dialled(server) as honest:
        assert is_served(honest)
        before = descriptors()
        for number in range(2000):
            sock, keys = opened(server)
            sealer = Sealer(keys.sending)
            frames = bytearray(sealer.seal(Frame(header=HELLO)))
            frames += sealer.seal(Frame(header=encode(Asked(0, b"numbers 1 10"))))
            position = chance.randrange(len(frames) * 8)
            frames[position // 8] ^= 1 << position % 8
            with sock, contextlib.suppress(ConnectionError):
                sock.sendall(frames)
            if number % 200 == 0:
                assert is_served(honest)
        assert is_served(honest)
        assert are_refused(server, 2000)
        assert descriptors() == before


@by_both_ways
@pytest.mark.parametrize(
    "kind", ["flipped", "replayed", "no hello", "noise", "oversized claim", "no request", "a wrong slot", "a payload"]
)
def test_a_bad_frame_ends_its_own_connection_only(transport, kind):
    with served(transport) as server, dialled(server) as honest:
        sock, keys = opened(server)
        sealer = Sealer(keys.sending, Limits(payload_bytes=2**40))
        hello = sealer.seal(Frame(header=HELLO)) if kind != "no hello" else b""
        request = lambda slot: Frame(header=encode(Asked(slot, b"nothing")))
        bad = {
            "flipped": lambda: flipped(sealer.seal(request(0))),
            "replayed": lambda: hello,
            "no hello": lambda: sealer.seal(request(0)),
            "noise": lambda: os.urandom(500),
            "oversized claim": lambda: sealer.begin(2**20, 2**40)[0],
            "no request": lambda: sealer.seal(Frame(header=b"\x93abc")),
            "a wrong slot": lambda: sealer.seal(request(10**6)),
            "a payload": lambda: sealer.seal(Frame(header=b"", payload=b"x")),
        }
        sock.sendall(hello + bad[kind]())
        assert is_closed(sock)
        assert is_served(honest)
        assert are_refused(server, 1)


@by_both_ways
def test_a_request_heard_on_one_connection_is_refused_on_another(transport):
    with served(transport) as server, dialled(server) as honest:
        first, keys = opened(server)
        heard = Sealer(keys.sending).seal(Frame(header=HELLO))
        second, _keys = opened(server)
        second.sendall(heard)
        assert is_closed(second)
        first.close()
        assert is_served(honest)


@by_both_ways
def test_callers_who_only_wait_cannot_fill_the_room(transport):
    with served(transport) as server, dialled(server) as honest:
        waiting = [raw(server) for _ in range(3 * PENDING_LIMIT)]
        assert is_served(honest)
        with dialled(server) as newcomer:
            assert is_served(newcomer)
        assert len(threads("stretto-parcels-caller")) <= PENDING_LIMIT + 10
        for sock in waiting:
            sock.close()


@by_both_ways
def test_callers_who_stay_silent_or_dawdle_are_hung_up_on(transport):
    with served(transport, silent_s=0.2) as server, dialled(server) as honest:
        assert is_closed(raw(server))
        sock, _keys = opened(server)
        assert is_closed(sock)
        with raw(server) as dawdling:
            dawdling.settimeout(0.05)
            assert any(was_hung_up_on_after(dawdling, byte) for byte in handshake.opening(bytes(32)))
        assert is_served(honest)


@by_both_ways
def test_who_has_another_key_gets_nowhere(transport):
    with served(transport) as server, dialled(server) as honest:
        with pytest.raises(WireError, match=f"the server at {server.address} could not prove that it holds"):
            ParcelClient.dial(server.address, b"x" * 32)
        assert is_served(honest)
        assert are_refused(server, 1)


def test_the_key_of_a_run_does_not_open_parcels_to_a_session_of_the_control_plane():
    with served("tcp") as server, raw(server) as sock:
        sock.sendall(handshake.opening(bytes(32)))
        reply = sock.recv(handshake.REPLY_BYTES)
        with pytest.raises(WireError, match="could not prove"):
            handshake.accept(KEY, bytes(32), reply, "the coordinator")


def pair(kind=socket.AF_UNIX):
    """A caller, and the connection of the server that he believes in."""
    if kind == socket.AF_UNIX:
        ours, theirs = socket.socketpair()
    else:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ours, theirs = socket.create_connection(listener.getsockname()), listener.accept()[0]
    limits = Limits(header_bytes=2**20, payload_bytes=10**6)
    client = ParcelClient(ParcelConnection(ours, Keys(b"a", b"b"), limits, limits), "there", limits)
    return client, ParcelConnection(theirs, Keys(b"b", b"a"), limits, limits)


def memory(size, seals=True):
    if seals:
        return create(size)[0]
    descriptor = os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    return descriptor


GOOD = (Place(0, "int64", (10,)),)
LIES = {
    "no memory": (Answered(b"", GOOD, 128), None, "its memory 0"),
    "short memory": (Answered(b"", GOOD, 8192), lambda: memory(4096), "its block has 8192 bytes, its memory 4096"),
    "memory that can be cut short": (Answered(b"", GOOD, 128), lambda: memory(4096, seals=False), "is not sealed"),
    "no memory file": (Answered(b"", GOOD, 128), lambda: os.open("/dev/null", os.O_RDWR), "cannot be mapped"),
    "a tensor beyond its block": (Answered(b"", (Place(64, "int64", (10,)),), 128), lambda: memory(4096), "not lie in"),
    "a kind that is none": (Answered(b"", (Place(0, "object", (1,)),), 128), lambda: memory(4096), "which is unknown"),
    "more than is allowed": (Answered(b"", (), 10**7), lambda: memory(10**7), "10000000 bytes, allowed are"),
    "a negative length": (Answered(b"", (), -64), lambda: memory(4096), "its block has -64 bytes"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_caller_does_not_believe_a_lying_server(lie):
    before = descriptors()
    client, server = pair()
    message, make, words = LIES[lie]
    ticket = client.ask(b"")
    descriptor = make() if make else None
    server.send(encode(message), descriptor)
    with pytest.raises(WireError, match=words):
        client.take(ticket)
    with pytest.raises(WireError, match=words):
        client.ask(b"")
    server.socket.close()
    if descriptor is not None:
        os.close(descriptor)
    assert descriptors() == before


@pytest.mark.parametrize("announced", [0, 64, 2**40])
def test_a_block_of_another_length_than_was_sent_is_refused(announced):
    client, server = pair(socket.AF_INET)
    ticket = client.ask(b"")
    server.send_payload(encode(Answered(b"", (), announced)), torch.zeros(128, dtype=torch.uint8))
    with pytest.raises(WireError, match="refused"):
        client.take(ticket)
    client.close()
    server.socket.close()


@pytest.mark.parametrize("kind", [socket.AF_UNIX, socket.AF_INET])
def test_two_thousand_mutated_or_truncated_answers_are_refused_and_leave_nothing_open(kind):
    chance, before = random.Random(3), descriptors()
    sealed = Sealer(b"b", Limits(payload_bytes=1000)).seal(
        Frame(header=encode(Answered(b"header", GOOD, 128)), payload=bytes(128))
    )
    for number in range(2000):
        client, server = pair(kind)
        ticket, answer = client.ask(b""), bytearray(sealed)
        if number % 2:
            del answer[chance.randrange(len(answer)) :]
        else:
            position = chance.randrange(len(answer) * 8)
            answer[position // 8] ^= 1 << position % 8
        server.socket.sendall(answer)
        server.socket.close()
        with pytest.raises((WireError, PeerLost)):
            client.take(ticket)
    assert descriptors() == before


def test_an_answer_cannot_come_twice():
    client, server = pair()
    tickets = [client.ask(b"") for _ in range(2)]
    answer = server.seal(encode(Answered(b"once", (), 0)))
    server.socket.sendall(answer * 2)
    assert client.take(tickets[0]).header == b"once"
    with pytest.raises(WireError, match="number 0, number 1 is due"):
        client.take(tickets[1])
    server.socket.close()


def test_descriptors_that_nobody_wants_are_dropped():
    with served("shared memory") as server, dialled(server) as honest:
        assert is_served(honest)
        before = descriptors()
        sock, keys = opened(server)
        hello = Sealer(keys.sending).seal(Frame(header=HELLO))
        with Path("/dev/null").open() as null:
            socket.send_fds(sock, [hello], [null.fileno()] * 100)
        sock.shutdown(socket.SHUT_WR)
        assert is_closed(sock)
        assert is_served(honest)
        assert are_refused(server, 0)
        assert descriptors() == before
