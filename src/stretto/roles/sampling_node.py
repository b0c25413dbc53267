"""The sampling node: picks, reads, decodes and transforms samples, and hands batches to workers that have no data."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stretto.communicate.parcel import Parcel
from stretto.communicate.parcel_server import ParcelServer
from stretto.compute.randomness import mixed_seed, seed_everything
from stretto.data.assembly import Assembler
from stretto.data.batch import Batch
from stretto.data.source import Source
from stretto.roles.sampling import (
    Describe,
    Learn,
    Make,
    Read,
    decode,
    numbers,
    pack,
    pack_batches,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """What a sampling node serves from."""

    assembler: Assembler
    training: Source
    validation: Source
    seed: int

    @property
    def sequential(self) -> bool:
        """Whether any of the data is a stream, in which only one reader can stand."""
        return any(getattr(source, "sequential", False) for source in (self.training, self.validation))


class SamplingNode:
    """Answers workers until it is told that the run is over.

    It decides nothing: which places of which epoch a worker wants, the worker says, and a batch depends on these alone.
    So any node can answer any request, one that dies has taken nothing along, and a request may be repeated elsewhere.
    A worker asks for no more than it has room for, which bounds the memory; a slow one has a connection of its own.

    `open_stock` opens the data. A stream is opened again for every worker, because each stands at another place of it.
    """

    def __init__(
        self,
        open_stock: Callable[[], Stock],
        key: bytes,
        *,
        publish: Callable[[str], None],
        wait: Callable[[], str],
        host: str | None = None,
    ) -> None:
        self._open_stock, self._key, self._host = open_stock, key, host
        self._stock = open_stock()
        self._of_ranks: dict[int, Stock] = {}
        self._publish, self._wait = publish, wait
        self._drawing = threading.Lock()
        self._made = 0

    def run(self) -> dict[str, Any]:
        """Serve from the moment that the address is published until `wait` returns."""
        server = ParcelServer(self._key, self._answer, host=self._host)
        try:
            self._publish(server.address)
            self._wait()
        finally:
            server.close()
        return {"batches": self._made, "served_bytes": server.served_bytes}

    def _answer(self, content: bytes) -> Parcel:
        request = decode(content)
        match request:
            case Describe():
                return pack(self._description())
            case Make():
                self._made += 1
                stock = self._stock_of(request.rank)
                return pack_batches([self._make(stock, request.epoch, range(*part)) for part in request.parts])
            case Read():
                validation = self._stock_of(request.rank).validation
                return pack_batches([validation.read(numbers(request.samples).tolist())])
            case Learn():
                self._stock.assembler.learn(numbers(request.samples), numbers(request.losses, "float64"))
                return Parcel()

    def _stock_of(self, rank: int) -> Stock:
        if not self._stock.sequential:
            return self._stock
        with self._drawing:
            if rank not in self._of_ranks:
                self._of_ranks[rank] = self._open_stock()
            return self._of_ranks[rank]

    def _make(self, stock: Stock, epoch: int, part: range) -> Batch:
        if getattr(stock.training, "ahead", True):
            return stock.assembler.make(epoch, part)
        with self._drawing:  # reading draws from the global generators: make it depend on the place, not on the time
            seed_everything(mixed_seed(stock.seed, "sample", epoch, part.start))
            return stock.assembler.make(epoch, part)

    def _description(self) -> dict[str, Any]:
        stock = self._stock
        return {
            "places": len(stock.assembler),
            "learns": stock.assembler.learns,
            "name": stock.training.name,
            "facts": dict(stock.training.facts),
            "validation": {"samples": len(stock.validation), "facts": dict(stock.validation.facts)},
        }
