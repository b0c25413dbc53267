"""What a worker has used, in a form that stays small however long it trains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace


@dataclass(frozen=True, slots=True)
class Series:
    """Parts of an epoch, equally long and equally far apart, one for each of `count` updates that follow one another.

    A worker whose share of every batch is the same uses one series per epoch, whatever their number of batches:

    >>> first, second = Series(0, start=0, length=4, step=1), Series(0, start=8, length=4, step=2)
    >>> first.joined(second)
    Series(epoch=0, start=0, length=4, step=1, stride=8, count=2)
    """

    epoch: int
    start: int
    length: int
    step: int
    stride: int = 0
    count: int = 1

    @property
    def samples(self) -> int:
        """How many samples the parts have together."""
        return self.length * self.count

    @property
    def stop(self) -> int:
        """The place behind the last part."""
        return self.start + (self.count - 1) * self.stride + self.length

    @property
    def last_step(self) -> int:
        """The update that used the last part."""
        return self.step + self.count - 1

    def joined(self, later: Series) -> Series | None:
        """Return both as one, or None where they are not one series."""
        stride = self.stride if self.count > 1 else later.start - self.start
        follows = (
            (later.epoch, later.length, later.step) == (self.epoch, self.length, self.last_step + 1)
            and later.start == self.start + self.count * stride
            and stride >= self.length
            and (later.count == 1 or later.stride == stride)
        )
        return replace(self, stride=stride, count=self.count + later.count) if follows else None

    def between(self, after: int, until: int) -> Series | None:
        """Return what was used by the updates after `after` up to `until`, or None where that is nothing."""
        first, last = max(self.step, after + 1), min(self.last_step, until)
        if first > last:
            return None
        start = self.start + (first - self.step) * self.stride
        return replace(self, start=start, step=first, count=last - first + 1)

    def to_values(self) -> tuple[int, ...]:
        """Return the series as whole numbers, for a message or a file."""
        return astuple(self)

    @classmethod
    def from_values(cls, values: Sequence[int]) -> Series:
        """Read back what `to_values` gave."""
        epoch, start, length, step, stride, count = map(int, values)
        return cls(epoch, start, length, step, stride, count)


class Uses:
    """What one worker has used and nobody has confirmed to have noted, in the order of use."""

    def __init__(self) -> None:
        self._tracks: dict[int, list[Series]] = {}

    def add(self, step: int, epoch: int, parts: Iterable[range]) -> None:
        """Count parts of an epoch as used by an update; the n-th part of each update makes up a series."""
        for track, part in enumerate(parts):
            if len(part):
                self._add(self._tracks.setdefault(track, []), Series(epoch, part.start, len(part), step))

    def confirm(self, step: int) -> None:
        """Forget what was used up to an update."""
        for track, series in self._tracks.items():
            left = (each.between(step, each.last_step) for each in series)
            self._tracks[track] = [each for each in left if each is not None]

    def series(self) -> list[Series]:
        """Return all that is not confirmed."""
        return sorted((each for track in self._tracks.values() for each in track), key=lambda each: each.step)

    @staticmethod
    def _add(track: list[Series], series: Series) -> None:
        joined = track[-1].joined(series) if track else None
        if joined is None:
            track.append(series)
        else:
            track[-1] = joined
