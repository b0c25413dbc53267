"""A server of parcels with callers, in one process or several, for tests of what travels between them."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from pathlib import Path

import torch

from stretto.communicate.parcel import Parcel
from stretto.communicate.parcel_client import ParcelClient
from stretto.communicate.parcel_server import ParcelServer
from stretto.errors import DataError

KEY = b"k" * 32
TRANSPORTS = {"shared memory": None, "tcp": "127.0.0.1"}


def answer(request):
    """What the request asks for: "numbers 3 1000" is a thousand times 3, other words fail in their own ways."""
    word, *rest = request.decode().split()
    match word:
        case "numbers":
            value, count = map(int, rest)
            return Parcel(header=request, tensors=[torch.full((count,), value)])
        case "nothing":
            return Parcel(header=request)
        case "damaged":
            raise DataError("record 7 of train.tar is damaged")
        case _:
            raise ValueError(f"nobody knows {word}")


@contextmanager
def served(transport, produce=answer, **limits):
    """A server in this process, closed at the end whatever happens."""
    server = ParcelServer(KEY, produce, host=TRANSPORTS[transport], **limits)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def dialled(server, **limits):
    """A caller in this process."""
    client = ParcelClient.dial(server.address, KEY, timeout_s=5.0, **limits)
    try:
        yield client
    finally:
        client.close()


def fetch(client, request=b"numbers 1 10"):
    """Ask and take."""
    return client.take(client.ask(request))


def in_child(act):
    """Fork a process in which `act(tell)` runs, until it is killed; return its id and what it told first, a word."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            torch.set_num_threads(1)
            act(lambda word: os.write(writing, word.encode() + b"\n"))
            threading.Event().wait()
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        return child, told.readline().decode().strip()


def threads(name="stretto-parcels"):
    """The living threads of servers in this process."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(name)]


def mapped_bytes():
    """How much shared memory of parcels this process has mapped."""
    spans = [line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines() if "memfd" in line]
    return sum(int(end, 16) - int(start, 16) for start, end in spans)


def descriptors():
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))
