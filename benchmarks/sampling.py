"""Our side of the data benchmark: what a worker gets from sampling nodes, and what it makes itself."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from children import Tell, child
from torch import Tensor

from stretto.data.assembly import Assembler
from stretto.data.ledger import Position
from stretto.data.loader import Loader
from stretto.data.orders.shuffled import Shuffled
from stretto.data.source import Source, load_data
from stretto.data.transform import Transform, load_transforms
from stretto.job import Choice
from stretto.launch.allocation import keep_freed_memory
from stretto.roles.samplers import Samplers
from stretto.roles.sampling_node import SamplingNode, Stock
from stretto.roles.served import ServedAssembly, describe

KEY = b"k" * 32
AHEAD = 4  # as many as two workers of a DataLoader have under way by default
BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What a job would say: `data:` and `loading.transform:`."""

    word: str
    arguments: dict[str, Any] = field(default_factory=dict)
    transforms: tuple[str, ...] = ("crop", "flip")

    def sources(self) -> tuple[Source, Source]:
        """Open it."""
        return load_data(Choice(self.word, self.arguments))

    def loaded_transforms(self) -> list[Transform]:
        """What is done to the inputs."""
        return load_transforms(Choice(each) for each in self.transforms)

    def stock(self) -> Stock:
        """Open it, for a sampling node to serve from."""
        training, validation = self.sources()
        assembler = Assembler(training, Shuffled(training, 0), self.loaded_transforms(), ahead=AHEAD)
        return Stock(assembler=assembler, training=training, validation=validation, seed=0)


@contextmanager
def served(data: Data, batch: int = BATCH, nodes: int = 2) -> Iterator[Loader]:
    """A worker's loader, which asks sampling nodes that are processes of their own."""

    def serve(tell: Tell) -> None:
        _as_every_seat()
        SamplingNode(data.stock, KEY, publish=tell, wait=signal.pause).run()

    with ExitStack() as stack:
        addresses = [stack.enter_context(child(serve)) for _ in range(nodes)]
        _as_every_seat()
        samplers = Samplers(nodes, lambda number, wait_s: addresses[number], KEY)
        stack.callback(samplers.close)
        assembly = ServedAssembly(samplers, describe(samplers), rank=0, ahead=AHEAD)
        yield stack.enter_context(Loader(assembly, batch, 0, 1))


@contextmanager
def read_here(data: Data, batch: int = BATCH) -> Iterator[Loader]:
    """A worker's loader, for which a thread of this process makes batches ahead."""
    _as_every_seat()
    with Loader(data.stock().assembler, batch, 0, 1) as loader:
        yield loader


@contextmanager
def inputs(way: AbstractContextManager[Loader]) -> Iterator[Iterator[Tensor]]:
    """The inputs of batch after batch, over epoch after epoch."""
    with way as loader:
        yield (batch.inputs for _wanted, (batch,) in loader.at(Position()))


def _as_every_seat() -> None:
    """What every process of a run does before anything else."""
    torch.set_num_threads(1)
    keep_freed_memory()
