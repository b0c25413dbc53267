"""Hostile callers at the coordinator's address: whatever they send, an honest one is served."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time

import pytest

from stretto.communicate import control, handshake
from stretto.communicate.control import Arrived, Connected, Lost
from stretto.communicate.control_client import ControlClient, ControlConnection
from stretto.communicate.control_server import PENDING_LIMIT, ControlServer
from stretto.communicate.messages import Answer, Hello, StopTraining, StoreCount
from stretto.errors import PeerLost, WireError

KEY = b"k" * 32


class Served:
    """A server in a thread, which answers requests and counts what happens."""

    def __init__(self, silent_s=5.0):
        self.server = ControlServer(KEY, silent_s=silent_s)
        self.connected, self.lost, self.said = [], [], []
        self._going = True
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        while self._going:
            for happening in self.server.poll(0.05):
                match happening:
                    case Connected():
                        self.connected.append(happening.peer)
                    case Lost():
                        self.lost.append(happening)
                    case Arrived():
                        self._answer(happening)

    def _answer(self, arrived):
        self.said.append(arrived.message)
        if isinstance(arrived.message, StoreCount):
            self.server.send(arrived.peer, Answer(request=arrived.message.request, number=len(self.said)))

    def dial(self, key=KEY, view=0):
        hello = Hello(role="worker", slot=0, view=view, pid=os.getpid())
        return ControlConnection.dial(self.server.address, key, hello, timeout_s=5.0)

    def close(self):
        self._going = False
        self.server.wake()
        self._thread.join()
        self.server.close()


@pytest.fixture
def served():
    served = Served()
    yield served
    served.close()


@pytest.fixture
def honest(served):
    client = ControlClient(served.dial())
    yield client
    client.close()


def is_served(client):
    started_s = time.monotonic()
    client.request(StoreCount(), timeout_s=5.0)
    return time.monotonic() - started_s < 2.0


def raw(served):
    return socket.create_connection(served.server.address, timeout=5.0)


def opened(served):
    """A socket with a session, as an honest caller has it before it says hello."""
    sock, nonce = raw(served), os.urandom(32)
    sock.sendall(handshake.opening(nonce))
    reply = b""
    while len(reply) < handshake.REPLY_BYTES:
        reply += sock.recv(handshake.REPLY_BYTES)
    return sock, control.accept(KEY, nonce, reply)


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


def test_two_thousand_hostile_connections_do_not_keep_an_honest_one_from_being_served(served, honest):
    chance = random.Random(1)
    for number in range(2000):
        with raw(served) as sock:
            try:
                sock.sendall(chance.randbytes(chance.randint(0, 200)))
                if number % 3 == 0:
                    sock.sendall(handshake.opening(chance.randbytes(32)) + chance.randbytes(100))
            except ConnectionError:
                pass
        if number % 200 == 0:
            assert is_served(honest)
    assert is_served(honest)
    assert served.lost == []
    assert len(served.connected) == 1


def test_callers_who_only_wait_cannot_fill_the_room(served, honest):
    waiting = [raw(served) for _ in range(3 * PENDING_LIMIT)]
    assert is_served(honest)
    newcomer = ControlClient(served.dial())
    assert is_served(newcomer)
    assert served.server.refused >= 2 * PENDING_LIMIT - 1
    newcomer.close()
    for sock in waiting:
        sock.close()


def test_callers_who_stay_silent_are_hung_up_on():
    served = Served(silent_s=0.2)
    try:
        assert is_closed(raw(served))
        sock, _session = opened(served)
        assert is_closed(sock)
        assert served.server.refused == 2
    finally:
        served.close()


def test_who_has_another_key_gets_nowhere(served, honest):
    with pytest.raises(WireError, match="could not prove"):
        served.dial(key=b"x" * 32)
    assert is_served(honest)
    assert len(served.connected) == 1


def test_an_agent_with_another_key_ends_with_one_sentence(served):
    address = ":".join(map(str, served.server.address))
    agent = [sys.executable, "-m", "stretto.launch.agent", "--slot", "3", "--coordinator", address]
    ended = subprocess.run(agent, input=b"x" * 32, capture_output=True, timeout=30)
    said = ended.stderr.decode()
    assert (ended.returncode, said.count("\n")) == (1, 1), said
    assert said.startswith("stretto: the agent of slot 3 has to end: the coordinator could not prove that it holds")


def test_a_coordinator_that_is_none_is_not_believed():
    with socket.create_server(("127.0.0.1", 0)) as impostor:
        address = impostor.getsockname()

        def pretend():
            sock, _ = impostor.accept()
            with sock:
                sock.recv(100)
                sock.sendall(bytes(handshake.REPLY_BYTES))

        thread = threading.Thread(target=pretend)
        thread.start()
        with pytest.raises(WireError, match="is its address right"):
            ControlConnection.dial(address, KEY, Hello(role="agent", slot=0, pid=1))
        thread.join()


@pytest.mark.parametrize("kind", ["flipped", "replayed", "no hello", "other view", "noise", "oversized claim"])
def test_a_bad_frame_ends_its_own_connection_only(served, honest, kind):
    sock, session = opened(served)
    hello = session.seal(Hello(role="worker", slot=1, view=3, pid=1), view=3)
    frames = {
        "flipped": hello[:-1] + bytes([hello[-1] ^ 1]),
        "replayed": hello + hello,
        "no hello": None,
        "other view": hello + session.seal(StopTraining(reason="mine"), view=4),
        "noise": hello + os.urandom(500),
        "oversized claim": hello + b"STRO\x01\0\0\0" + b"\xff" * 48,
    }
    if kind == "no hello":
        sock.close()
        sock, session = opened(served)
        frames[kind] = session.seal(StopTraining(reason="mine"))
    sock.sendall(frames[kind])
    assert is_closed(sock)
    assert is_served(honest)
    assert not any(isinstance(message, StopTraining) for message in served.said)


def test_a_frame_heard_on_one_connection_is_refused_on_another(served, honest):
    first, session = opened(served)
    heard = session.seal(Hello(role="worker", slot=1, pid=1))
    second, _other = opened(served)
    second.sendall(heard)
    assert is_closed(second)
    first.close()
    assert is_served(honest)


def test_a_peer_that_does_not_read_is_let_go_of():
    server = ControlServer(KEY)
    try:
        hello = Hello(role="worker", slot=1, pid=1)
        dialled = []
        thread = threading.Thread(target=lambda: dialled.append(ControlConnection.dial(server.address, KEY, hello)))
        thread.start()
        happened = []
        while not happened:
            happened += server.poll(0.1)
        thread.join()
        deaf = happened[0].peer
        while not any(isinstance(each, Lost) for each in happened):
            server.send(deaf, StopTraining(reason="x" * 2**20))
            happened += server.poll(0.0)
        assert "it does not read" in happened[-1].reason
        dialled[0].close()
    finally:
        server.close()


def test_other_addresses_than_loopback_are_refused():
    for host in ("0.0.0.0", "10.0.0.1", "example.org", "::"):
        with pytest.raises(WireError, match="encryption between hosts comes with the first engine"):
            ControlServer(KEY, host)


def test_nobody_at_home_is_told_by_the_address():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        address = sock.getsockname()
    with pytest.raises(PeerLost, match=f"no coordinator answers at 127.0.0.1:{address[1]}"):
        ControlConnection.dial(address, KEY, Hello(role="agent", slot=0, pid=1), timeout_s=0.2)


def test_a_client_notices_that_the_coordinator_has_gone():
    served = Served()
    noticed = threading.Event()
    client = ControlClient(served.dial(), on_lost=noticed.set)
    served.close()
    assert noticed.wait(5.0)
    for act in (client.pushed, lambda: client.request(StoreCount()), client.ready):
        with pytest.raises(PeerLost, match="the coordinator has gone"):
            act()
    client.close()


def test_requests_of_many_threads_get_their_own_answers(served, honest):
    numbers = []
    ask = lambda: numbers.extend(honest.request(StoreCount()).number for _ in range(50))
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == sorted(set(numbers))
    assert len(numbers) == 400


def test_asking_for_news_costs_microseconds(honest):
    assert honest.pushed() == []
    started_s = time.perf_counter()
    for _ in range(10_000):
        honest.pushed()
    assert (time.perf_counter() - started_s) / 10_000 < 20e-6
