"""Killed processes on either side of a parcel: the other one knows at once, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import threading

import pytest
import torch
from parcel_world import KEY, TRANSPORTS, answer, descriptors, dialled, fetch, in_child, mapped_bytes, served, threads

from stretto.communicate.parcel import Parcel
from stretto.communicate.parcel_client import ParcelClient
from stretto.communicate.parcel_server import ParcelServer
from stretto.errors import PeerLost

by_both_ways = pytest.mark.parametrize("transport", TRANSPORTS)


def killed(child):
    """Kill a process."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def slowly(request):
    """Never answers the request "wait"."""
    return answer(request) if request != b"wait" else threading.Event().wait()


def server_in_child(transport):
    kept = []

    def serve(tell):
        kept.append(ParcelServer(KEY, slowly, host=TRANSPORTS[transport]))
        tell(kept[0].address)

    return in_child(serve)


@by_both_ways
def test_who_waits_for_a_killed_server_knows_at_once_and_keeps_what_he_took(transport):
    before = mapped_bytes(), descriptors()
    child, address = server_in_child(transport)
    client = ParcelClient.dial(address, KEY)
    taken, ticket = fetch(client, b"numbers 9 100000"), client.ask(b"wait")
    killing = threading.Thread(target=killed, args=(child,))
    killing.start()
    with pytest.raises(PeerLost, match=f"{address} hands out no batches any more"):
        client.take(ticket)
    killing.join()
    for act in (lambda: client.take(ticket), lambda: client.ask(b"nothing")):
        with pytest.raises(PeerLost, match="hands out no batches any more"):
            act()
    assert taken.tensors[0].sum() == 900_000
    client.close()
    del taken
    assert (mapped_bytes(), descriptors()) == before


@by_both_ways
def test_asking_a_killed_server_fails_at_once(transport):
    child, address = server_in_child(transport)
    client = ParcelClient.dial(address, KEY)
    fetch(client)
    killed(child)
    with pytest.raises(PeerLost, match="hands out no batches any more"):
        client.ask(b"nothing")


@by_both_ways
def test_a_killed_caller_leaves_no_thread_and_no_memory_and_others_are_served(transport):
    before = mapped_bytes(), descriptors()
    reading, writing = os.pipe()

    def call():
        torch.set_num_threads(1)
        client = ParcelClient.dial(os.read(reading, 200).decode(), KEY)
        held = [fetch(client, b"numbers 1 100000") for _ in range(5)]
        client.ask(b"numbers 1 5000000")
        os.kill(os.getpid(), signal.SIGKILL if len(held) == 5 else signal.SIGTERM)

    child = os.fork()
    if child == 0:
        try:
            call()
        finally:
            os._exit(1)
    with served(transport) as server:
        os.write(writing, server.address.encode())
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        with dialled(server) as honest:
            assert fetch(honest).tensors[0].sum() == 10
            callers = threads("stretto-parcels-caller")
        for thread in callers:
            thread.join(10.0)
        assert threads("stretto-parcels-caller") == []
        assert mapped_bytes() == before[0]
        assert server.refused == 0
    os.close(reading)
    os.close(writing)
    assert descriptors() == before[1]


def test_a_server_that_was_forked_away_from_still_ends_its_connections():
    with served("shared memory", lambda request: Parcel(header=b"x")) as server, dialled(server) as client:
        assert fetch(client).header == b"x"
        child, word = in_child(lambda tell: tell("here"))
        assert word == "here"
        server.close()
        with pytest.raises(PeerLost):
            fetch(client)
        killed(child)
