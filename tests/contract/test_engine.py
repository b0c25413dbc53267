"""The contract of engines: start agents in slots, notice their end, stop them, and leave nothing behind."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from pathlib import Path

import pytest
from launch_world import is_alive, stretto_threads, wait_until

from stretto.communicate.control import Connected
from stretto.communicate.control_server import ControlServer
from stretto.communicate.messages import Leave
from stretto.errors import StrettoError
from stretto.launch.inline import InlineEngine
from stretto.launch.local import LocalEngine

ENGINES = {
    "inline": lambda: InlineEngine(),
    "local": lambda: LocalEngine(),
    "local with objects": lambda: LocalEngine(objects={"answer": 42}),
}


of_processes = pytest.mark.parametrize("opened", ["local", "local with objects"], indirect=True)  # no threads


class Opened:
    """An engine that was opened, with a server for its agents."""

    def __init__(self, engine):
        self.engine = engine
        self.server = ControlServer(secrets.token_bytes(32), engine.advertise())
        self.peers = {}
        self.ended = []
        engine.open(self.server.address, self.server.key, self.server.let_go)

    def poll(self):
        for happening in self.server.poll(0.01):
            if isinstance(happening, Connected):
                self.peers[happening.peer.hello.slot] = happening.peer
        self.ended += self.engine.poll()

    def wait_for(self, condition):
        return wait_until(lambda: self.poll() or condition(), 20.0)

    def close(self):
        self.server.close()
        self.engine.close()


@pytest.fixture(params=ENGINES)
def opened(request):
    opened = Opened(ENGINES[request.param]())
    yield opened
    opened.close()
    assert wait_until(lambda: not stretto_threads(), 5.0)
    pids = {peer.hello.pid for peer in opened.peers.values()} - {os.getpid()}
    assert wait_until(lambda: not any(map(is_alive, pids)), 5.0)


def test_every_started_slot_dials_back_under_its_number(opened):
    opened.engine.start([0, 2])
    assert opened.wait_for(lambda: set(opened.peers) == {0, 2})
    assert {peer.hello.role for peer in opened.peers.values()} == {"agent"}
    assert opened.ended == []


def test_a_slot_can_be_added_later(opened):
    assert opened.engine.abilities.add
    opened.engine.start([0])
    assert opened.wait_for(lambda: 0 in opened.peers)
    opened.engine.start([1])
    assert opened.wait_for(lambda: 1 in opened.peers)


def test_an_agent_that_was_told_to_leave_ends_and_the_engine_notices(opened):
    opened.engine.start([0, 1])
    assert opened.wait_for(lambda: len(opened.peers) == 2)
    opened.server.send(opened.peers[1], Leave())
    assert opened.wait_for(lambda: opened.ended)
    assert [(each.slot, each.code) for each in opened.ended] == [(1, 0)]


@of_processes
def test_one_slots_death_leaves_the_others_alone_and_it_can_be_started_anew(opened):
    assert opened.engine.abilities.independent
    opened.engine.start([0, 1])
    assert opened.wait_for(lambda: len(opened.peers) == 2)
    first = opened.peers.pop(1)
    os.kill(first.hello.pid, signal.SIGKILL)
    assert opened.wait_for(lambda: opened.ended)
    assert [(each.slot, each.code) for each in opened.ended] == [(1, -9)]
    assert is_alive(opened.peers[0].hello.pid)
    opened.engine.start([1])
    assert opened.wait_for(lambda: 1 in opened.peers)


@of_processes
def test_stop_ends_what_does_not_leave_by_itself(opened):
    opened.engine.start([0, 1])
    assert opened.wait_for(lambda: len(opened.peers) == 2)
    opened.engine.stop([0], 0.1)
    assert not is_alive(opened.peers[0].hello.pid)
    assert is_alive(opened.peers[1].hello.pid)


def test_stopping_a_slot_that_is_not_there_does_nothing(opened):
    opened.engine.stop([7], 0.0)


def test_an_engine_can_be_closed_before_it_was_opened():
    for make in ENGINES.values():
        make().close()


def test_there_is_room(opened):
    assert opened.engine.capacity() is None


def test_the_dry_run_shows_what_is_executed():
    opened = Opened(LocalEngine())
    try:
        port = opened.server.address[1]
        coordinator = ["--coordinator", f"127.0.0.1:{port}"]
        command = [sys.executable, "-P", "-m", "stretto.launch.agent", *coordinator, "--slot", "1"]
        assert opened.engine.command([1]) == [command]
        opened.engine.start([1])
        assert opened.wait_for(lambda: 1 in opened.peers)
        executed = Path(f"/proc/{opened.peers[1].hello.pid}/cmdline").read_text().split("\0")[:-1]
        assert executed == command
    finally:
        opened.close()


def test_the_key_is_seen_by_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opened = Opened(LocalEngine())
    opened.engine.start([0])
    assert opened.wait_for(lambda: 0 in opened.peers)
    process = Path(f"/proc/{opened.peers[0].hello.pid}")
    for place in ("cmdline", "environ"):
        assert opened.server.key not in (process / place).read_bytes()
    opened.close()
    assert list(tmp_path.iterdir()) == []


def test_live_objects_are_refused_where_forking_is_unsafe(monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(StrettoError, match=r"cannot hand live objects .* or use the engine inline"):
        LocalEngine(objects={"model": 1}).open(("127.0.0.1", 1), b"key", lambda: None)
