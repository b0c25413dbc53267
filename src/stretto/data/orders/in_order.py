"""The order in which samples come as they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.data.ordering import Numbers, places_between

if TYPE_CHECKING:
    from stretto.data.source import Source


class InOrder:
    """Every sample once per epoch, as they stand in the source: the order of a stream."""

    def __init__(self, source: Source) -> None:
        self._size = len(source)

    def __len__(self) -> int:
        return self._size

    def take(self, epoch: int, start: int, stop: int) -> Numbers:
        """Return the samples at these places, which are their numbers."""
        return places_between(start, stop, self._size)
