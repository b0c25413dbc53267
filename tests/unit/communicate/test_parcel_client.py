"""Parcels from a server to its callers, by both ways that tensors can take."""

from __future__ import annotations

import os
import threading

import pytest
import torch
from parcel_world import KEY, TRANSPORTS, answer, descriptors, dialled, fetch, mapped_bytes, served, threads

from stretto.communicate.parcel import DTYPES, Parcel
from stretto.communicate.parcel_client import HELD_LIMIT, OUTSTANDING_LIMIT, ParcelClient
from stretto.communicate.parcel_server import ParcelServer
from stretto.errors import AnswerFailed, DataError, PeerLost, WireError

by_both_ways = pytest.mark.parametrize("transport", TRANSPORTS)


def bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


@by_both_ways
def test_tensors_of_every_kind_arrive_as_they_were_handed_out(transport):
    tensors = [torch.randint(0, 2, (3, number % 4, 5)).to(DTYPES[name]) for number, name in enumerate(DTYPES)]
    tensors += [torch.arange(12).reshape(3, 4).T, torch.tensor(True), torch.randn(300_000)]
    with (
        served(transport, lambda request: Parcel(header=request, tensors=tensors)) as server,
        dialled(server) as client,
    ):
        parcel = fetch(client, b"all of them")
        assert parcel.header == b"all of them"
        assert [each.dtype for each in parcel.tensors] == [each.dtype for each in tensors]
        assert all(torch.equal(bits(a), bits(b)) for a, b in zip(parcel.tensors, tensors, strict=True))
        assert client.received_bytes >= sum(each.nbytes for each in tensors)
    assert server.served_bytes == client.received_bytes


@by_both_ways
def test_answers_come_in_the_order_of_asking_and_are_taken_in_any(transport):
    with served(transport) as server, dialled(server) as client:
        tickets = [client.ask(b"numbers %d 10" % number) for number in range(5)]
        assert client.outstanding == 5
        for number in (3, 0, 4, 1, 2):
            assert client.take(tickets[number]).tensors[0].tolist() == [number] * 10
        assert client.outstanding == 0
        for wrong in (tickets[0], tickets[-1] + 1, -1):
            with pytest.raises(ValueError, match=f"nothing is due for ticket {wrong}"):
                client.take(wrong)


@by_both_ways
@pytest.mark.parametrize(
    ("request_", "kind", "words"),
    [
        (b"damaged", DataError, "^record 7 of train.tar is damaged$"),
        (b"juggle", AnswerFailed, "^ValueError: nobody knows juggle"),
    ],
)
def test_what_answering_raises_is_raised_at_the_caller_who_may_go_on(transport, request_, kind, words):
    with served(transport) as server, dialled(server) as client:
        before, bad, after = (client.ask(each) for each in (b"numbers 1 10", request_, b"nothing"))
        with pytest.raises(kind, match=words):
            client.take(bad)
        assert client.take(before).tensors[0].tolist() == [1] * 10
        assert client.take(after).tensors == ()
        assert fetch(client).tensors[0].sum() == 10
        assert server.refused == 0


@by_both_ways
def test_a_parcel_that_is_kept_does_not_change_while_others_arrive(transport):
    with served(transport) as server, dialled(server) as client:
        kept = [fetch(client, b"numbers %d 1000" % number) for number in range(4)]
        slices = [parcel.tensors[0][500:] for parcel in kept[2:]]
        del kept[2:]
        for number in range(100, 150):
            assert fetch(client, b"numbers %d 1000" % number).tensors[0].eq(number).all()
        assert [parcel.tensors[0].unique().tolist() for parcel in kept] == [[0], [1]]
        assert [each.unique().tolist() for each in slices] == [[2], [3]]


@by_both_ways
def test_a_caller_may_change_what_he_was_given(transport):
    mine = torch.zeros(1000)
    with served(transport, lambda request: Parcel(tensors=[mine])) as server, dialled(server) as client:
        fetch(client).tensors[0].add_(1)
        assert fetch(client).tensors[0].sum() == 0
    assert mine.sum() == 0


def test_two_thousand_parcels_need_the_memory_of_a_few():
    before = mapped_bytes()
    with served("shared memory") as server, dialled(server) as client:
        tickets = [client.ask(b"numbers 0 100000") for _ in range(3)]
        for number in range(1, 2000):
            held = client.take(tickets.pop(0))
            tickets.append(client.ask(b"numbers %d 100000" % number))
        assert held.tensors[0].sum() == (1999 - 3) * 100_000
        assert mapped_bytes() - before <= 2 * 4 * 2**20  # both sides, three outstanding and one held, files of 1 MiB
        assert len(threads("stretto-parcels-caller")) == 1


def test_slots_grow_with_their_parcels_and_are_used_again():
    with served("shared memory") as server, dialled(server) as client:
        sizes = [10, 10_000, 1_000_000, 10, 0, 1_000_000]
        files = descriptors()
        addresses = set()
        for size in sizes:
            tensor = fetch(client, b"numbers 7 %d" % size).tensors[0]
            assert tensor.sum() == 7 * size
            addresses.add(tensor.data_ptr())
            del tensor
        assert len(addresses - {0}) <= 3
        assert descriptors() <= files + 2


def test_who_keeps_everything_gets_copies_and_the_slots_stay_few():
    with served("shared memory") as server, dialled(server) as client:
        before = descriptors()
        kept = [fetch(client, b"numbers %d 100" % number) for number in range(3 * HELD_LIMIT)]
        assert descriptors() - before <= 2 * (HELD_LIMIT + 1)
        assert [int(parcel.tensors[0][99]) for parcel in kept] == list(range(3 * HELD_LIMIT))


@by_both_ways
def test_a_caller_who_takes_nothing_holds_back_no_other(transport):
    with served(transport) as server, dialled(server) as idle, dialled(server) as busy:
        tickets = [idle.ask(b"numbers 5 1000000") for _ in range(20)]
        assert [fetch(busy).tensors[0].sum() for _ in range(100)] == [10] * 100
        assert idle.take(tickets[-1]).tensors[0].sum() == 5_000_000


@by_both_ways
def test_large_requests_and_large_answers_pass_each_other(transport):
    """Neither side reads while it writes, if nobody sees to it."""

    def echo(request):
        return Parcel(header=request, tensors=[torch.zeros(10**6)])

    with served(transport, echo) as server, dialled(server) as client:
        tickets = [client.ask(bytes([number]) * 5_000_000) for number in range(6)]
        assert [client.take(ticket).header[-1] for ticket in tickets] == list(range(6))


@by_both_ways
def test_what_is_too_large_is_refused_in_numbers_and_the_next_one_passes(transport):
    with served(transport, largest_bytes=10_000) as server, dialled(server) as client:
        with pytest.raises(WireError, match=r"17000\d\d\d \+ 0 bytes, allowed are 16777216"):
            client.ask(bytes(17_000_000))
        with pytest.raises(AnswerFailed, match=r"\d+ \+ 80000 bytes, allowed are 16777216 \+ 10000"):
            fetch(client, b"numbers 1 10000")
        assert fetch(client).tensors[0].sum() == 10


@by_both_ways
def test_a_caller_who_allows_less_than_the_server_sends_is_told(transport):
    with served(transport) as server, dialled(server, largest_bytes=10_000) as client:
        assert fetch(client).tensors[0].sum() == 10
        with pytest.raises(WireError, match=r"80000 bytes, allowed are \d+ \+ 10000"):
            fetch(client, b"numbers 1 10000")
        with pytest.raises(WireError, match="allowed are"):
            client.ask(b"nothing")


def test_asking_without_ever_taking_has_an_end():
    with served("shared memory") as server, dialled(server) as client:
        tickets = [client.ask(b"nothing") for _ in range(OUTSTANDING_LIMIT)]
        with pytest.raises(WireError, match="are asked for and not taken; take some of them first"):
            client.ask(b"nothing")
        client.take(tickets[0])
        client.ask(b"nothing")


@by_both_ways
def test_many_callers_are_answered_at_the_same_time(transport):
    together = threading.Barrier(4)

    def meet(request):
        together.wait(10.0)
        return answer(request)

    with served(transport, meet) as server:
        sums = []

        def call():
            with dialled(server) as client:
                sums.extend(int(fetch(client).tensors[0].sum()) for _ in range(5))

        callers = [threading.Thread(target=call) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert sums == [10] * 20


@by_both_ways
def test_a_closed_server_leaves_nothing_and_what_was_taken_stays(transport):
    before = descriptors(), mapped_bytes(), threads()
    with served(transport) as server:
        client = ParcelClient.dial(server.address, KEY)
        parcel, due = fetch(client, b"numbers 3 100"), client.ask(b"nothing")
        server.close()
        server.close()
    for act in (lambda: client.ask(b"nothing"), lambda: client.ask(b"nothing"), lambda: client.take(due + 1)):
        with pytest.raises((PeerLost, ValueError)):
            act()
    client.close()
    client.close()
    assert parcel.tensors[0].sum() == 300
    del parcel
    assert (descriptors(), mapped_bytes(), threads()) == before
    with pytest.raises(PeerLost, match="no batches are handed out"):
        ParcelClient.dial(server.address, KEY, timeout_s=0.0)


def test_closing_wakes_who_waits():
    answering, waiting = threading.Event(), threading.Event()

    def slow(request):
        answering.set()
        waiting.wait(10.0)
        return Parcel()

    with served("shared memory", slow) as server, dialled(server) as client:
        ticket = client.ask(b"")
        answering.wait(10.0)
        closing = threading.Thread(target=client.close)
        closing.start()
        with pytest.raises(PeerLost, match="was closed"):
            client.take(ticket)
        waiting.set()
        closing.join()


def test_what_a_closed_connection_has_to_tell_is_known_at_once():
    with served("shared memory") as server, dialled(server) as client:
        ticket = client.ask(b"numbers 1 4")
        client.close()
        assert client.comes(ticket, wait_s=50.0)
        with pytest.raises(PeerLost):
            client.take(ticket)


def test_another_users_process_is_turned_away_though_it_holds_the_key(monkeypatch):
    with served("shared memory") as server:
        monkeypatch.setattr(os, "getuid", lambda: 4711)
        with pytest.raises(PeerLost):
            ParcelClient.dial(server.address, KEY, timeout_s=0.0)
        assert server.refused == 1


def test_without_files_in_memory_the_loopback_address_takes_the_sockets_place(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    with served("shared memory") as server, dialled(server) as client:
        assert server.address.startswith("tcp:127.0.0.1:")
        assert fetch(client).tensors[0].sum() == 10


@pytest.mark.parametrize("address", ["", "unixoid", "http://here", "tcp:4711", "tcp:here:there"])
def test_what_is_no_address_is_told_at_once(address):
    with pytest.raises(WireError, match=f'"{address}" is no address of parcels; expected unix:@name or tcp:host:port'):
        ParcelClient.dial(address, KEY)


@by_both_ways
def test_nobody_at_home_is_told_by_the_address(transport):
    with served(transport) as server:
        pass
    with pytest.raises(PeerLost, match=f"no batches are handed out at {server.address}"):
        ParcelClient.dial(server.address, KEY, timeout_s=0.1)


def test_an_address_of_another_machine_cannot_be_listened_on():
    with pytest.raises(WireError, match=r'cannot be handed out at "192\.0\.2\.1".*name an address of this machine'):
        ParcelServer(KEY, answer, host="192.0.2.1")
