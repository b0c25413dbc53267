"""Batches to train on: this rank's share of every global batch, in the order of the epoch, from any position on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from stretto.data.batch import Batch
from stretto.data.ledger import Lease, Ledger, Position
from stretto.data.order import Permutation, mix_seeds
from stretto.data.prefetch import Prefetch
from stretto.data.source import Source
from stretto.data.split import micro_shares, share
from stretto.errors import DataError

Portions = Iterator[tuple[Lease, Batch]]
BLOCK = 8192


class Loader:
    """Reads what one of `size` ranks contributes to each batch of `batch` samples over all ranks.

    The order depends on seed and epoch alone, and ranks take contiguous parts of it: put together, the parts of n ranks
    are exactly the batch of one. With `micro_batches` a rank's part is its shares of these, one after the other. The
    last batch of an epoch may be smaller, and a rank's part of it empty: tensors of the right shapes with no rows. A
    thread reads `prefetch` batches ahead; with 0, or for a source that must not be read ahead, there is none. With
    `pin` the batches lie where a GPU fetches them by itself.

    >>> from stretto.data.digits import digits
    >>> training, _ = digits()
    >>> with Loader(training, batch=128, rank=0, size=2, seed=0) as loader:
    ...     lease, batch = next(loader.at(Position(0, 256)))
    >>> lease.start, lease.stop, len(batch)
    (256, 384, 64)
    """

    def __init__(
        self,
        source: Source,
        batch: int,
        rank: int,
        size: int,
        seed: int,
        *,
        micro_batches: int = 1,
        shuffle: bool = True,
        prefetch: int = 2,
        pin: bool = False,
    ) -> None:
        if prefetch < 0:
            raise DataError(f"{prefetch} batches cannot be read ahead; give 0 or more")
        share(range(batch), size, rank)  # refuses a rank that does not exist
        self._shares = _Shares(source, Ledger(len(source), batch), rank, size, seed, micro_batches, shuffle, pin)
        self.samples, self.batch = len(source), batch
        self._prefetch = prefetch if getattr(source, "ahead", True) else 0
        self._ahead: Prefetch[tuple[Lease, Batch]] | None = None

    @property
    def batches_per_epoch(self) -> int:
        """How many updates an epoch has."""
        return -(-self.samples // self.batch)

    def at(self, position: Position) -> Portions:
        """Iterate from a position on, over epoch after epoch without end; an iteration begun before ends.

        Raises what the source raises, with its traceback, in place of the batch that could not be read.
        """
        self.close()
        portions = self._shares.read_from(position)
        if not self._prefetch:
            return portions
        self._ahead = Prefetch(portions, self._prefetch)
        return self._ahead

    def close(self) -> None:
        """End the thread that reads ahead; forgetting the loader and its iteration does the same."""
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class _Shares:
    """What the thread needs to know. It is not the loader, which could not be forgotten while a thread knew it."""

    source: Source
    ledger: Ledger
    rank: int
    size: int
    seed: int
    micro_batches: int
    shuffle: bool
    pin: bool

    def read_from(self, position: Position) -> Portions:
        ahead: _Ahead | None = None
        while True:
            lease = self.ledger.next(position)
            if self.shuffle and (ahead is None or lease.start == 0):
                ahead = _Ahead(Permutation(self.ledger.size, mix_seeds(self.seed, lease.epoch)))
            batch = self._read(lease, ahead)
            yield lease, batch.pinned() if self.pin else batch
            position = lease.end

    def _read(self, lease: Lease, ahead: _Ahead | None) -> Batch:
        places: Sequence[int] = ahead.places(lease) if ahead is not None else range(lease.start, lease.stop)
        parts = micro_shares(range(len(lease)), self.micro_batches, self.size, self.rank)
        mine = list(chain.from_iterable(places[part.start : part.stop] for part in parts))
        if not mine:  # some sample's shapes, without its row
            return self.source.read([0]).slice(0, 0)
        return self.source.read(mine)


class _Ahead:
    """The elements of an order from where somebody reads, computed thousands at a time, which costs little more."""

    def __init__(self, order: Permutation) -> None:
        self._order = order
        self._start = 0
        self._elements: list[int] = []

    def places(self, lease: Lease) -> list[int]:
        """The samples of a lease, of all ranks."""
        if not self._start <= lease.start <= lease.stop <= self._start + len(self._elements):
            self._start = lease.start
            stop = min(max(lease.stop, lease.start + BLOCK), len(self._order))
            self._elements = self._order.take(lease.start, stop).tolist()
        return self._elements[lease.start - self._start : lease.stop - self._start]
