"""How quickly do batches get from a sampling node to a worker?

    python benchmarks/parcels.py [--rounds 9] [--json]

A server process answers with one ready tensor of floats, again and again; this process keeps three requests ahead.

- memory_<MB>: over shared memory, GB/s until a parcel is handed over, beside torch's `copy_` of as much in one process.
- memory_<MB>_read: the same, when every number is also read (summed as integers); the peer copies and sums too.
- tcp_<MB>: over a loopback socket with authenticated frames, beside a plain socket that receives into fresh memory.
- queue_<MB>: over shared memory, every number read, beside torch.multiprocessing's queue, which makes a shared file for
  each tensor.
- small: parcels per second of 64 pictures of 28 x 28 floats, beside torch's DataLoader with one worker and the same
  ready batch.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import torch
import torch.multiprocessing
from comparison import Figure, alternate, arguments, show
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from stretto.communicate.parcel import Parcel
from stretto.communicate.parcel_client import ParcelClient
from stretto.communicate.parcel_server import ParcelServer
from stretto.launch.allocation import keep_freed_memory

KEY = b"k" * 32
AHEAD = 3
MEGABYTES = (1, 16, 64)
SMALL = (64, 1, 28, 28)
Next = Callable[[], Tensor]
Way = Callable[[Tensor], AbstractContextManager[Next]]


def floats(megabytes: int) -> Tensor:
    """A ready tensor."""
    return torch.randn(megabytes * 250_000)


@contextmanager
def child(act: Callable[[Callable[[str], object]], None]) -> Iterator[str]:
    """A process in which `act` runs, with a way to tell this one a line; killed at the end."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            act(lambda line: os.write(writing, line.encode() + b"\n"))
            signal.pause()
        finally:
            os._exit(1)
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            yield told.readline().strip()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@contextmanager
def parcels(tensor: Tensor, host: str | None = None) -> Iterator[Next]:
    """The next tensor from our server in another process."""
    kept = []

    def serve(tell: Callable[[str], object]) -> None:
        kept.append(ParcelServer(KEY, lambda request: Parcel(header=request, tensors=[tensor]), host=host))
        tell(kept[0].address)

    with child(serve) as address:
        client = ParcelClient.dial(address, KEY)
        tickets = deque(client.ask(b"next") for _ in range(AHEAD))

        def following() -> Tensor:
            found = client.take(tickets.popleft()).tensors[0]
            tickets.append(client.ask(b"next"))
            return found

        yield following
        client.close()


@contextmanager
def copying(tensor: Tensor) -> Iterator[Next]:
    """The next tensor is a copy in the same process, always in the same memory."""
    memory = torch.empty_like(tensor)
    yield lambda: memory.copy_(tensor)


@contextmanager
def plain_socket(tensor: Tensor) -> Iterator[Next]:
    """The next tensor from a socket that nobody authenticates."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve(tell: Callable[[str], object]) -> None:
            tell("")
            sock, _address = listener.accept()
            while True:
                sock.sendall(tensor.numpy().data.cast("B"))

        def following() -> Tensor:
            found = torch.empty_like(tensor)
            view = found.numpy().data.cast("B")
            while view:
                view = view[sock.recv_into(view) :]
            return found

        with child(serve), socket.create_connection(listener.getsockname()) as sock:
            yield following


@contextmanager
def queue(tensor: Tensor) -> Iterator[Next]:
    """The next tensor from torch.multiprocessing's queue."""
    context = torch.multiprocessing.get_context("fork")
    waiting = context.Queue(AHEAD)

    def serve() -> None:
        while True:
            waiting.put(tensor.clone())

    process = context.Process(target=serve, daemon=True)
    process.start()
    yield waiting.get
    process.kill()
    process.join()


class Ready(IterableDataset):
    """The same ready batch for ever."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __iter__(self) -> Iterator[Tensor]:
        while True:
            yield self._tensor


@contextmanager
def loader(tensor: Tensor) -> Iterator[Next]:
    """The next tensor from torch's DataLoader, whose worker shares the batch once and then only says where it is."""
    batches = iter(DataLoader(Ready(tensor), batch_size=None, num_workers=1, prefetch_factor=AHEAD))
    yield lambda: next(batches)


def over_tcp(tensor: Tensor) -> AbstractContextManager[Next]:
    """The next tensor from our server, as if it were on another host."""
    return parcels(tensor, "127.0.0.1")


def per_second(following: Next, count: int, read: bool) -> float:
    """How many tensors a second; those that were ready before are not counted."""
    for _ in range(AHEAD):
        following()
    start = time.perf_counter()
    for _ in range(count):
        tensor = following()
        if read:
            tensor.view(torch.int64).sum()
    return count / (time.perf_counter() - start)


def figure(name: str, rounds: int, tensor: Tensor, ways: tuple[Way, Way], count: int, goal: str = "") -> Figure:
    """Both ways in alternating order after one to warm up; in GB/s, or in parcels per second if they are small."""
    small = tensor.shape == SMALL
    scale = 1 if small else tensor.nbytes / 1e9
    with ways[0](tensor) as mine, ways[1](tensor) as theirs:
        calls = [lambda way=way: scale * per_second(way, count, read=name.endswith("read")) for way in (mine, theirs)]
        ours, peer = alternate(rounds + 1, *calls)
    unit = "parcels/s" if small else "GB/s"
    return Figure(name=name, unit=unit, ours=ours[1:], peer=peer[1:], goal=goal)


def main() -> None:
    """Measure ten pairs."""
    chosen = arguments(__doc__ or "", rounds=9)
    torch.set_num_threads(1)
    keep_freed_memory()  # as every worker does
    pairs = {  # name: size, ours, the peer, how many, and the goal
        **{
            f"memory_{size}{read}": (floats(size), (parcels, copying), 4000 // size, "ours >= 3")
            for size in MEGABYTES
            for read in ("", "_read")
        },
        "queue_16_read": (floats(16), (parcels, queue), 60, ""),
        "tcp_1": (floats(1), (over_tcp, plain_socket), 400, ""),
        "tcp_16": (floats(16), (over_tcp, plain_socket), 25, ""),
        "small": (torch.randn(SMALL), (parcels, loader), 2000, "ratio >= 1"),
    }
    figures = [figure(name, chosen.rounds, *what) for name, what in pairs.items()]
    show(figures, chosen.json)


if __name__ == "__main__":
    main()
