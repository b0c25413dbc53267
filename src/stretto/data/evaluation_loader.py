"""Batches to validate with: every sample once over all ranks, none repeated to fill up."""

from __future__ import annotations

from collections.abc import Iterator

from stretto.data.batch import Batch
from stretto.data.prefetch import Prefetch
from stretto.data.source import Source
from stretto.data.split import share
from stretto.errors import DataError


class EvaluationLoader:
    """Reads one rank's even part of a source in its own order, `batch` samples at a time.

    Ranks may have different numbers of batches, or none: nothing that is done with them may wait for another rank.

    >>> from stretto.data.sources.digits import digits
    >>> _, validation = digits()
    >>> [len(batch) for batch in EvaluationLoader(validation, batch=100, rank=1, size=2)]
    [100, 79]
    """

    def __init__(
        self, source: Source, batch: int, rank: int, size: int, *, prefetch: int = 2, pin: bool = False
    ) -> None:
        if batch < 1:
            raise DataError(f"batches of {batch} samples cannot be read (validation.batch); give 1 or more")
        self._source, self._batch = source, batch
        self._part = share(range(len(source)), size, rank)
        self._pin = pin
        self._prefetch = prefetch if getattr(source, "ahead", True) else 0

    def __len__(self) -> int:
        return -(-len(self._part) // self._batch)

    def __iter__(self) -> Iterator[Batch]:
        starts = range(0, len(self._part), self._batch)
        batches = map(self._read, starts)
        return Prefetch(batches, self._prefetch) if self._prefetch else batches

    def _read(self, start: int) -> Batch:
        batch = self._source.read(self._part[start : start + self._batch])
        return batch.pinned() if self._pin else batch
