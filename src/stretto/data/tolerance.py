"""Going on without samples that are damaged, each of them named once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stretto.data.damage import Damage, DamagedSamples
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.batch import Batch
    from stretto.data.source import Source


class Tolerant:
    """A source that leaves damaged samples out of its batches and reports each the first time it is met."""

    def __init__(self, source: Source, report: Callable[[Damage], None]) -> None:
        self._source, self._report = source, report
        self._known: set[int] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._source)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._source, name)

    def read(self, indices: Sequence[int]) -> Batch:
        """Read what can be read of these samples: fewer, or none, where some are damaged."""
        try:
            return self._source.read(indices)
        except DamagedSamples as found:
            for damage in found.damages:
                self._tell(damage)
            return nothing_of(self._source, indices[0]) if found.rest is None else found.rest

    def _tell(self, damage: Damage) -> None:
        with self._lock:
            known = damage.sample in self._known
            self._known.add(damage.sample)
        if not known:
            self._report(damage)


def nothing_of(source: Source, near: int) -> Batch:
    """Return a batch without samples that has the shapes of the others, taken from the first sound one from `near` on.

    >>> from stretto.data.sources.digits import digits
    >>> nothing_of(digits()[0], near=5).inputs.shape
    torch.Size([0, 1, 8, 8])
    """
    for sample in range(near, len(source)):
        try:
            return source.read([sample]).slice(0, 0)
        except DamagedSamples:
            continue
    raise DataError(f"{source.name}: from sample {near} to the end, {len(source)}, no sample can be read")
