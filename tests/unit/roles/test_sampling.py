"""Sampling nodes and the workers that ask them, in one process: what comes is what would have been read here."""

import threading
from collections import Counter, deque
from contextlib import ExitStack, contextmanager

import pytest
import torch
from data_world import Numbers
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import IterableDataset

from stretto.data.assembly import Assembler
from stretto.data.batch import Batch
from stretto.data.ledger import Position
from stretto.data.loader import Loader
from stretto.data.orders.importance import Importance
from stretto.data.orders.in_order import InOrder
from stretto.data.orders.shuffled import Shuffled
from stretto.data.sources.stream import Stream
from stretto.errors import AnswerFailed, DataError, PeerLost, WireError
from stretto.roles import samplers as samplers_module
from stretto.roles.samplers import Samplers
from stretto.roles.sampling import Make, Read, decode, encode, pack_batches, unpack_batches
from stretto.roles.sampling_node import SamplingNode, Stock
from stretto.roles.served import ServedAssembly, ServedSource, describe

KEY = b"k" * 32


class Node:
    """A sampling node in threads of this process, which can be ended and started anew."""

    def __init__(self, addresses, number, source, ordering, host):
        self.addresses, self.number, self.over = addresses, number, threading.Event()

        def open_stock():
            opened = source() if callable(source) else source
            return Stock(assembler=Assembler(opened, ordering(opened)), training=opened, validation=Numbers(11), seed=0)

        published = threading.Event()

        def publish(address):
            addresses[number] = address
            published.set()

        node = SamplingNode(open_stock, KEY, publish=publish, wait=self.over.wait, host=host)
        self.thread = threading.Thread(target=node.run)
        self.thread.start()
        published.wait(10)

    def end(self):
        self.over.set()
        self.thread.join(10)


class Numerous:
    """A world of sampling nodes, and the way to find them."""

    def __init__(self, stack, count, make):
        self.addresses, self.nodes, self.make = {}, {}, make
        self.count, self.stack = count, stack
        for number in range(count):
            self.begin(number)

    def begin(self, number):
        self.nodes[number] = self.make(self.addresses, number)
        self.stack.callback(self.nodes[number].end)

    def samplers(self):
        samplers = Samplers(self.count, lambda sampler, wait_s: self.addresses.get(sampler), KEY)
        self.stack.callback(samplers.close)
        return samplers


@contextmanager
def nodes(count=1, source=None, ordering=lambda source: Shuffled(source, 0), host=None, make=None):
    given = source or Numbers(50)
    with ExitStack() as stack:
        yield Numerous(stack, count, make or (lambda *place: Node(*place, given, ordering, host)))


def loaders(world, ahead=2, ranks=2, batch=8):
    for rank in range(ranks):
        samplers = world.samplers()
        yield Loader(ServedAssembly(samplers, describe(samplers), rank=rank, ahead=ahead), batch, rank, ranks)


def indices(portion):
    return [batch.indices.tolist() for batch in portion[1]]


@pytest.mark.parametrize("host", [None, "127.0.0.1"], ids=["shared memory", "socket"])
@pytest.mark.parametrize("count", [1, 3])
def test_what_is_served_is_what_would_have_been_read_here(count, host):
    with nodes(count, host=host) as world:
        for rank, served in enumerate(loaders(world)):
            here = Loader(Assembler(Numbers(50), Shuffled(Numbers(50), 0)), 8, rank, 2)
            with here, served:
                for _, ours, theirs in zip(range(15), here.at(Position()), served.at(Position()), strict=False):
                    assert ours[0] == theirs[0]
                    for a, b in zip(ours[1], theirs[1], strict=True):
                        assert torch.equal(a.inputs, b.inputs) and torch.equal(a.targets, b.targets)
                        assert torch.equal(a.indices, b.indices)


def test_workers_are_told_what_they_have_to_know_of_the_data():
    with nodes() as world:
        samplers = world.samplers()
        described = describe(samplers)
        assert (described["places"], described["learns"], described["name"]) == (50, False, "numbers")
        validation = ServedSource(samplers, described["name"], described["validation"], rank=0)
        assert (len(validation), validation.facts) == (11, {"features": 2})
        assert validation.read([3, 9, 0]).targets.tolist() == [3, 9, 0]


@pytest.mark.parametrize("survivors", [1, 0], ids=["another goes on", "the only one comes back"])
def test_a_node_that_ends_in_the_middle_loses_and_doubles_nothing(survivors):
    with nodes(1 + survivors) as world:
        (served,) = loaders(world, ranks=1)
        portions = served.at(Position())
        seen = [indices(next(portions)) for _ in range(4)]
        world.nodes[0].end()
        if not survivors:
            world.begin(0)
        seen += [indices(next(portions)) for _ in range(6)]
        whole = Loader(Assembler(Numbers(50), Shuffled(Numbers(50), 0)), 8, 0, 1)
        with whole:
            assert seen == [indices(portion) for _, portion in zip(range(10), whole.at(Position()), strict=False)]


def test_a_node_that_stands_still_is_left_alone_while_there_is_another(monkeypatch):
    monkeypatch.setattr(samplers_module, "STALL_S", 0.2)
    moving = threading.Event()

    class Stuck(Numbers):
        def read(self, indices):
            moving.wait(20)
            return super().read(indices)

    sources = [Stuck(50), Numbers(50)]
    with nodes(2, make=lambda found, number: Node(found, number, sources[number], InOrder, None)) as world:
        (served,) = loaders(world, ranks=1)
        portions = served.at(Position())
        assert [indices(next(portions)) for _ in range(7)] == [
            [[*range(start, min(start + 8, 50))]] for start in range(0, 50, 8)
        ]
        moving.set()


def test_without_any_node_a_worker_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(samplers_module, "PATIENCE_S", 0.3)
    samplers = Samplers(2, lambda sampler, wait_s: None, KEY)
    with pytest.raises(PeerLost, match="none of 2 sampling nodes"):
        describe(samplers)


def test_a_worker_that_takes_nothing_holds_back_no_other():
    with nodes(source=Numbers(5000)) as world:
        idle, busy = loaders(world, ahead=4)
        waiting = idle.at(Position())
        first = indices(next(waiting))
        portions = busy.at(Position())
        assert sum(len(indices(next(portions))[0]) for _ in range(500)) == 2000
        assert indices(next(waiting)) != first


@pytest.mark.parametrize("ahead", [1, 2, 3, 4])
def test_two_nodes_have_equally_much_to_do_however_many_requests_are_under_way(ahead):
    request = encode(Make(epoch=0, parts=((0, 4),)))
    with nodes(2) as world:
        samplers, asked = world.samplers(), Counter()
        waiting = deque(samplers.ask(request) for _ in range(ahead))
        for _ in range(20):
            waiting.append(samplers.ask(request))
            asked[waiting[0].client.address] += 1
            samplers.take(waiting.popleft())
        assert sorted(asked.values()) == [10, 10]


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_no_more_is_made_ahead_than_was_asked_for(ahead):
    source = Numbers(5000)
    with nodes(source=source) as world:
        (served,) = loaders(world, ranks=1, ahead=ahead)
        next(served.at(Position()))
        served.close()  # takes what was asked for
        assert source.reads == ahead + 1


def test_an_error_of_the_source_reaches_the_worker_in_its_words():
    class Torn(Numbers):
        def read(self, indices):
            raise DataError("torn.csv: ends in the middle of line 7; get the file anew")

    with nodes(source=Torn(50)) as world:
        (served,) = loaders(world, ranks=1)
        with pytest.raises(DataError, match=r"torn\.csv: ends in the middle of line 7"):
            next(served.at(Position()))


def test_losses_that_workers_tell_change_what_is_served():
    with nodes(source=Numbers(64), ordering=lambda source: Importance(source, 0)) as world:
        (served,) = loaders(world, ranks=1, batch=64)
        portions = served.at(Position())
        assembly, hard = served.assembly, 7
        assert assembly.learns
        seen = 0
        for _ in range(30):
            (batch,) = next(portions)[1]
            assert batch.weights is not None and (batch.weights > 0).all()
            seen += int((batch.indices == hard).sum())
            assembly.learn(batch.indices.numpy(), (batch.indices == hard).double().numpy())
        assert seen > 5 * 30


def test_a_source_that_draws_random_numbers_gives_the_same_whenever_it_is_asked():
    class Noisy(Numbers):
        ahead = False

        def read(self, indices):
            batch = super().read(indices)
            return Batch(torch.rand(len(batch), 2), batch.targets, batch.indices)

    drawn = []
    for ahead in (1, 4):
        with nodes(source=Noisy(50)) as world:
            torch.rand(ahead)
            (served,) = loaders(world, ranks=1, ahead=ahead)
            portions = zip(range(7), served.at(Position()), strict=False)
            drawn.append([batch.inputs.clone() for _, (_, (batch,)) in portions])
    assert all(torch.equal(a, b) for a, b in zip(*drawn, strict=True))


def test_workers_that_stand_at_different_places_of_a_stream_do_not_disturb_one_another():
    class Items(IterableDataset):
        def __len__(self):
            return 40

        def __iter__(self):
            return iter((torch.tensor([number]), number) for number in range(40))

    def node(addresses, number):
        return Node(addresses, number, lambda: Stream(Items()), InOrder, None)

    with nodes(make=node) as world:
        ahead, behind = (each.at(Position()) for each in loaders(world))
        first = [indices(next(ahead)) for _ in range(8)]
        second = [indices(next(behind)) for _ in range(8)]
    assert first == [[[*range(start, start + 4)]] for start in (0, 8, 16, 24, 32, 0, 8, 16)]
    assert second == [[[*range(start + 4, start + 8)]] for start in (0, 8, 16, 24, 32, 0, 8, 16)]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=4))
def test_batches_survive_the_way(shapes):
    batches = [
        Batch({"a": torch.rand(n, 2), "b": (torch.ones(n), [torch.zeros(n, 1)])}, torch.arange(n), torch.arange(n),
              torch.rand(n) if weighted else None)
        for n, weighted in shapes
    ]  # fmt: skip
    for sent, came in zip(batches, unpack_batches(pack_batches(batches)), strict=True):
        assert torch.equal(sent.inputs["a"], came.inputs["a"])
        assert torch.equal(sent.inputs["b"][1][0], came.inputs["b"][1][0])
        assert (sent.weights is None) == (came.weights is None)


@pytest.mark.parametrize("content", [b"", b"\xc1", b"\x81\xa4type\xa3Bad", encode(Make(epoch=0, parts=()))[:-1]])
def test_what_is_no_request_is_refused(content):
    with pytest.raises(WireError, match="request was refused"):
        decode(content)


def test_numbers_of_half_a_size_are_refused():
    with nodes() as world:
        samplers = world.samplers()
        with pytest.raises(AnswerFailed, match="7 bytes are no 64-bit numbers"):
            samplers.take(samplers.ask(encode(Read(samples=b"7 bytes"))))
