"""Making batches of places in an epoch, here or elsewhere: the contract, and the one that makes them here."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from stretto.data.batch import Batch
from stretto.data.draws import Draws
from stretto.data.ledger import Lease
from stretto.data.ordering import Learning, Ordering
from stretto.data.prefetch import Prefetch
from stretto.data.tolerance import nothing_of

if TYPE_CHECKING:
    from stretto.data.draws import Floats
    from stretto.data.ordering import Numbers
    from stretto.data.source import Source
    from stretto.data.transform import Transform

BLOCK = 8192


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one rank needs of a global batch: the places of each of its micro-batches."""

    lease: Lease
    parts: tuple[range, ...]


Portion = tuple[Wanted, list[Batch]]


class Assembly(Protocol):
    """Turns places of an epoch into batches, some ahead of the one that is used."""

    learns: bool  # whether the order wants to hear losses

    @property
    def ahead(self) -> int:
        """How many batches may have been begun beyond the one that was handed out last."""
        ...

    def __len__(self) -> int:
        """How many places an epoch has."""
        ...

    def portions(self, wanted: Iterable[Wanted]) -> Iterator[Portion]:
        """Make what is wanted, in that order; raises in place of a batch that cannot be made. One iteration at a time.

        The iterator may have a `close`, which ends what is done ahead.
        """
        ...

    def learn(self, samples: Numbers, losses: Floats) -> None:
        """Hand the losses of samples to an order that learns from them."""
        ...


class Assembler:
    """Makes batches in this process: picks samples by the order, reads them, transforms them.

    A batch depends on seed, epoch and places alone, so it is the same whoever makes it. Any thread may call `make`.
    """

    def __init__(
        self,
        source: Source,
        ordering: Ordering,
        transforms: Sequence[Transform] = (),
        *,
        seed: int = 0,
        ahead: int = 2,
        pin: bool = False,
    ) -> None:
        self._source, self._transforms, self._seed, self._pin = source, transforms, seed, pin
        self._order = _Ahead(ordering)
        self._ordering = ordering
        self.learns = isinstance(ordering, Learning)
        self._threaded = ahead if getattr(source, "ahead", True) else 0

    @property
    def ahead(self) -> int:
        """The thread fills a shelf, and is making one batch more."""
        return self._threaded + 1

    def __len__(self) -> int:
        return len(self._ordering)

    def portions(self, wanted: Iterable[Wanted]) -> Iterator[Portion]:
        """Make batches one after the other, in a thread of their own where the source allows it."""
        portions = ((each, [self.make(each.lease.epoch, part) for part in each.parts]) for each in wanted)
        return Prefetch(portions, self._threaded) if self._threaded else portions

    def make(self, epoch: int, part: range) -> Batch:
        """Make the batch of some places that follow one another."""
        samples = self._order.take(epoch, part.start, part.stop)
        batch = self._source.read(samples.tolist()) if len(samples) else nothing_of(self._source, 0)
        batch = self._transform(epoch, part, samples, self._weigh(epoch, batch))
        return batch.pinned() if self._pin else batch

    def learn(self, samples: Numbers, losses: Floats) -> None:
        """Hand losses on to the order."""
        if isinstance(self._ordering, Learning):
            self._ordering.learn(samples, losses)

    def _weigh(self, epoch: int, batch: Batch) -> Batch:
        if not isinstance(self._ordering, Learning):
            return batch
        return replace(batch, weights=self._ordering.weigh(epoch, batch.indices.numpy()))

    def _transform(self, epoch: int, part: range, samples: Numbers, batch: Batch) -> Batch:
        if not self._transforms:
            return batch
        places: Any = np.arange(part.start, part.stop)
        if len(batch) < len(places):  # damaged samples are left out; those that stay keep their random numbers
            places = places[np.isin(samples, batch.indices.numpy())]
        inputs, draws = batch.inputs, Draws(self._seed, epoch, places)
        for transform in self._transforms:
            inputs = transform.apply(inputs, draws)
        return replace(batch, inputs=inputs)


class _Ahead:
    """An order that is computed thousands of places at a time, which costs little more than a few."""

    def __init__(self, ordering: Ordering) -> None:
        self._ordering = ordering
        self._learns = isinstance(ordering, Learning)
        self._lock = threading.Lock()
        self._epoch = self._start = 0
        self._samples: Any = np.empty(0, dtype=np.int64)

    def take(self, epoch: int, start: int, stop: int) -> Numbers:
        """The samples at these places; an order that learns is asked anew each time."""
        if self._learns:
            return self._ordering.take(epoch, start, stop)
        with self._lock:
            inside = self._start <= start <= stop <= self._start + len(self._samples)
            if epoch != self._epoch or not inside:
                end = min(max(stop, start + BLOCK), len(self._ordering))
                self._epoch, self._start = epoch, start
                self._samples = self._ordering.take(epoch, start, end)
            taken: Numbers = self._samples[start - self._start : stop - self._start]
            return taken
