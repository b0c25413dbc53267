"""Every transport does the same."""

from __future__ import annotations

import ast
import os
import socket
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from seats import together

from stretto.communicate.alone import Alone
from stretto.communicate.process_group import ProcessGroup
from stretto.communicate.transport import Transport, gather_bytes
from stretto.errors import PeerLost

Act = Callable[[Transport], Any]


def by_threads(size: int, act: Act) -> list[Any]:
    return together(size, act)


def alone(size: int, act: Act) -> list[Any]:
    return [act(Alone())]


def by_processes(size: int, act: Act, mesh: bool = True) -> list[Any]:
    """Fork one process per seat; they meet at a store in a file, and answer through a pipe by repr."""
    with tempfile.TemporaryDirectory() as folder:
        pipes = [os.pipe() for _ in range(size)]
        children = []
        for rank in range(size):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    torch.set_num_threads(1)
                    store = dist.FileStore(f"{folder}/store", size)
                    group = ProcessGroup.form(store, rank, size, backend="gloo", timeout_s=20)
                    group._mesh = group._mesh if mesh else None
                    with os.fdopen(pipes[rank][1], "w") as answer:
                        answer.write(repr(act(group)))
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        answers = []
        for child, (reading, writing) in zip(children, pipes, strict=True):
            os.close(writing)
            with os.fdopen(reading) as answer:
                text = answer.read()
            assert os.waitpid(child, 0)[1] == 0
            answers.append(ast.literal_eval(text))
        return answers


def by_processes_without_mesh(size: int, act: Act) -> list[Any]:
    return by_processes(size, act, mesh=False)


WORLDS = [by_threads, by_processes, by_processes_without_mesh]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("length", [3, 100_000])
def test_a_sum_is_the_sum_over_all_seats(world: Any, length: int) -> None:
    def act(transport: Transport) -> Any:
        tensor = torch.full((length,), transport.rank + 1.0)
        transport.sum(tensor).wait()
        return tensor.unique().tolist()

    assert world(3, act) == [[6.0]] * 3


@pytest.mark.parametrize("world", WORLDS)
def test_several_sums_may_be_under_way_at_once(world: Any) -> None:
    def act(transport: Transport) -> Any:
        tensors = [torch.full((10**power,), 1.0 * transport.rank) for power in (1, 5, 2, 6)]
        pending = [transport.sum(tensor) for tensor in tensors]
        for each in pending:
            each.wait()
        return [tensor[0].item() for tensor in tensors]

    assert world(2, act) == [[1.0] * 4] * 2


@pytest.mark.parametrize("world", WORLDS)
def test_gather_keeps_the_order_of_ranks_and_allows_uneven_parts(world: Any) -> None:
    def act(transport: Transport) -> Any:
        even = transport.gather(torch.tensor([float(transport.rank)]))
        uneven = transport.gather(torch.full((transport.rank, 2), transport.rank), uneven=True)
        return [part.tolist() for part in even + uneven]

    expected = [[0.0], [1.0], [2.0], [], [[1, 1]], [[2, 2], [2, 2]]]
    assert world(3, act) == [expected] * 3


@pytest.mark.parametrize("world", WORLDS)
def test_broadcast_hands_out_the_tensor_of_one_seat(world: Any) -> None:
    def act(transport: Transport) -> Any:
        tensor = torch.full((2, 2), float(transport.rank))
        transport.broadcast(tensor, source=1)
        return tensor.tolist()

    assert world(2, act) == [[[1.0, 1.0], [1.0, 1.0]]] * 2


@pytest.mark.parametrize("world", WORLDS)
def test_channels_do_not_mix(world: Any) -> None:
    def act(transport: Transport) -> Any:
        other = transport.split("other")
        first, second = torch.ones(2), torch.full((2,), 10.0)
        if transport.rank:  # the seats use the two channels in different order
            late = transport.sum(first)
            other.sum(second).wait()
        else:
            pending = other.sum(second)
            late = transport.sum(first)
            pending.wait()
        late.wait()
        return first.tolist() + second.tolist()

    assert world(2, act) == [[2.0, 2.0, 20.0, 20.0]] * 2


@pytest.mark.parametrize("world", [*WORLDS, alone])
def test_bytes_of_any_length_can_be_gathered(world: Any) -> None:
    parts = world(2, lambda transport: gather_bytes(transport, b"\x00\xff" * transport.rank))
    assert parts[0] in ([b"", b"\x00\xff"], [b""])


@pytest.mark.parametrize("world", WORLDS)
def test_a_seat_that_has_gone_raises_peer_lost_in_the_others(world: Any) -> None:
    def act(transport: Transport) -> Any:
        if transport.rank == 0:
            transport.close()
            return "gone"
        with pytest.raises(PeerLost):
            transport.sum(torch.ones(4)).wait()
        return "noticed"

    assert world(2, act) == ["gone", "noticed"]


def test_seats_in_one_process_keep_random_states_of_their_own() -> None:
    def draw(transport: Transport) -> list[float]:
        torch.manual_seed(transport.rank)
        drawn = []
        for _ in range(3):
            drawn.append(torch.rand(1).item())
            transport.sum(torch.ones(1)).wait()
        return drawn

    for rank, drawn in enumerate(together(2, draw)):
        torch.manual_seed(rank)
        assert drawn == [torch.rand(1).item() for _ in range(3)]


def test_seats_that_wait_for_different_exchanges_are_told_so() -> None:
    def act(transport: Transport) -> None:
        channel = transport.split("odd") if transport.rank else transport
        channel.gather(torch.ones(1))

    with pytest.raises(PeerLost, match="different exchanges"):
        together(2, act)


def test_sockets_of_the_mesh_are_not_reachable_by_a_network() -> None:
    def act(transport: ProcessGroup) -> bool:
        assert transport._mesh is not None
        return all(peer.family == socket.AF_UNIX for peer in transport._mesh._peers.values())

    assert by_processes(2, act) == [True, True]
