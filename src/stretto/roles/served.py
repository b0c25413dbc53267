"""Data that sampling nodes have and this worker has not, in the shapes in which a worker uses data."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stretto.data.assembly import Portion, Wanted
from stretto.data.batch import Batch
from stretto.roles.samplers import Asked, Samplers
from stretto.roles.sampling import Describe, Learn, Make, Read, encode, unpack, unpack_batches

if TYPE_CHECKING:
    from stretto.data.draws import Floats
    from stretto.data.ordering import Numbers


class ServedAssembly:
    """Asks sampling nodes for batches, `ahead` of them before they are needed."""

    def __init__(
        self, samplers: Samplers, description: dict[str, Any], *, rank: int, ahead: int, pin: bool = False
    ) -> None:
        self._samplers, self._rank, self._pin = samplers, rank, pin
        self._places, self.learns = int(description["places"]), bool(description["learns"])
        self._ahead = ahead

    @property
    def ahead(self) -> int:
        """How many batches are asked for beyond the one handed out last."""
        return self._ahead

    def __len__(self) -> int:
        return self._places

    def portions(self, wanted: Iterable[Wanted]) -> Iterator[Portion]:
        """Hand out batches in order, keeping requests for the following ones under way."""
        waiting: deque[tuple[Wanted, Asked]] = deque()
        try:
            for each in wanted:
                waiting.append((each, self._samplers.ask(self._request(each))))
                if len(waiting) > self._ahead:
                    yield self._take(*waiting.popleft())
            while waiting:
                yield self._take(*waiting.popleft())
        finally:
            for _, asked in waiting:
                self._samplers.forget(asked)

    def learn(self, samples: Numbers, losses: Floats) -> None:
        """Tell all sampling nodes how the model did."""
        told = Learn(samples=_bytes(samples, np.int64), losses=_bytes(losses, np.float64))
        self._samplers.tell(encode(told))

    def _request(self, wanted: Wanted) -> bytes:
        parts = tuple((part.start, part.stop) for part in wanted.parts)
        return encode(Make(epoch=wanted.lease.epoch, parts=parts, rank=self._rank))

    def _take(self, wanted: Wanted, asked: Asked) -> Portion:
        batches = unpack_batches(self._samplers.take(asked))
        return wanted, [batch.pinned() for batch in batches] if self._pin else batches


class ServedSource:
    """Validation data, read by a sampling node."""

    def __init__(self, samplers: Samplers, name: str, description: dict[str, Any], *, rank: int) -> None:
        self.name, self.facts = name, dict(description["facts"])
        self._samplers, self._rank, self._samples = samplers, rank, int(description["samples"])

    def __len__(self) -> int:
        return self._samples

    def read(self, indices: Sequence[int]) -> Batch:
        """Have a sampling node read these samples."""
        asked = self._samplers.ask(encode(Read(samples=_bytes(indices, np.int64), rank=self._rank)))
        (batch,) = unpack_batches(self._samplers.take(asked))
        return batch


def describe(samplers: Samplers) -> dict[str, Any]:
    """Ask what there is."""
    description: dict[str, Any] = unpack(samplers.take(samplers.ask(encode(Describe()))))
    return description


def _bytes(numbers: Any, dtype: Any) -> bytes:
    return np.asarray(numbers, dtype=dtype).tobytes()
