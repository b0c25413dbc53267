"""Which samples have been used: a state machine of plain values, without clock, thread, file or network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stretto.errors import DataError


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """How far the data has been used: everything before `offset` in the order of `epoch`, and all epochs before it.

    >>> Position.from_values({"epoch": 2, "offset": 128}) > Position(1, 900)
    True
    """

    epoch: int = 0
    offset: int = 0

    def __post_init__(self) -> None:
        if self.epoch < 0 or self.offset < 0:
            raise DataError(f"epoch {self.epoch}, offset {self.offset} is no position in the data; both begin at 0")

    def to_values(self) -> dict[str, int]:
        """Return the position as JSON can hold it."""
        return {"epoch": self.epoch, "offset": self.offset}

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Position:
        """Read back what `to_values` gave."""
        return cls(int(values["epoch"]), int(values["offset"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The samples of one update: `start` to `stop` in the order of an epoch, over all workers."""

    epoch: int
    start: int
    stop: int
    ends_epoch: bool

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def begin(self) -> Position:
        """Where the data has to stand for this lease to be the next."""
        return Position(self.epoch, self.start)

    @property
    def end(self) -> Position:
        """Where the data stands once this lease is used."""
        return Position(self.epoch + 1, 0) if self.ends_epoch else Position(self.epoch, self.stop)


class Verdict(StrEnum):
    """What became of a commit."""

    COMMITTED = "committed"
    DOUBLE = "double"  # known already; harmless, so that whoever heard no answer may ask again
    GAP = "gap"  # something before it is missing, or it is not a lease of this ledger
    OLD_VIEW = "old view"  # its sender belongs to a membership that is over


class Ledger:
    """Counts every sample exactly once per epoch, whatever is repeated, lost or late.

    Leases are computed, not handed out: `next` is a function of the position, so all seats know them without asking.
    Only a commit moves the ledger, and only the one lease that begins where it stands, by the step after the last.
    After a loss the seats `rewind` to the position of the state they have loaded, under a new and larger view; what is
    still on its way from the old view is then refused.

    >>> ledger = Ledger(size=10, batch=4)
    >>> lease = ledger.next(ledger.position)
    >>> ledger.commit(lease, step=1), ledger.commit(lease, step=1), ledger.position
    (<Verdict.COMMITTED: 'committed'>, <Verdict.DOUBLE: 'double'>, Position(epoch=0, offset=4))
    """

    def __init__(
        self, size: int, batch: int, *, position: Position | None = None, step: int = 0, view: int = 0
    ) -> None:
        if size < 1 or batch < 1:
            raise DataError(f"{size} samples in batches of {batch} cannot be trained on; both must be at least 1")
        self.size, self.batch = size, batch
        self.position = position or Position()
        self.step, self.view = step, view

    def next(self, position: Position) -> Lease:
        """Return the lease that follows a position; the last of an epoch may be smaller."""
        if position.offset >= self.size:
            position = Position(position.epoch + 1, 0)
        stop = min(position.offset + self.batch, self.size)
        return Lease(epoch=position.epoch, start=position.offset, stop=stop, ends_epoch=stop == self.size)

    def commit(self, lease: Lease, step: int, view: int = 0) -> Verdict:
        """Count a lease as used by the update `step`, or say why not; only COMMITTED changes anything."""
        if view < self.view:
            return Verdict.OLD_VIEW
        if step <= self.step and lease.end <= self.position:
            return Verdict.DOUBLE
        if view > self.view or step != self.step + 1 or lease != self.next(self.position):
            return Verdict.GAP
        self.position, self.step = lease.end, step
        return Verdict.COMMITTED

    def rewind(self, position: Position, step: int, view: int) -> None:
        """Go back to where a loaded state stands; everything used since then counts as unused again."""
        if view <= self.view:
            raise DataError(f"view {view} cannot rewind the ledger, which is in view {self.view}; views only grow")
        if position > self.position or step > self.step:
            here = f"step {self.step}, {self.position}"
            raise DataError(f"cannot rewind to step {step}, {position}: the ledger has only come to {here}")
        self.position, self.step, self.view = position, step, view
