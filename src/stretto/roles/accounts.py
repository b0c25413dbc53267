"""A worker's side of the ledger: what it has used, kept until the coordinator has confirmed it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from stretto.data.assembly import Wanted
from stretto.data.series import Series, Uses

TELL_S: Final = 0.5
SETTLE_S: Final = 10.0


class Line(Protocol):
    """How accounts reach the coordinator."""

    def tell(self, uses: Sequence[Series]) -> Callable[[float], bool | None]:
        """Send uses; the function returned waits so many seconds for whether they are noted, None if not known yet."""
        ...


class Accounts:
    """Tells the coordinator now and then what was used, without waiting for its answer.

    What is not confirmed stays here and goes into every checkpoint, so that nothing is lost between the two.
    """

    def __init__(self, line: Line | None = None) -> None:
        self._line = line
        self._uses = Uses()
        self._step = self._told_step = 0
        self._answer: Callable[[float], bool | None] | None = None
        self._told_s = time.monotonic()

    def used(self, step: int, wanted: Wanted) -> None:
        """Count what this worker contributed to an update."""
        if self._line is None:
            return
        self._uses.add(step, wanted.lease.epoch, wanted.parts)
        self._step = step
        now_s = time.monotonic()
        if now_s - self._told_s >= TELL_S:
            self._told_s = now_s
            self._go_on(0.0)

    def unconfirmed(self) -> list[list[int]]:
        """What a checkpoint has to remember."""
        return [list(each.to_values()) for each in self._uses.series()]

    def settle(self) -> bool:
        """Have everything noted at the end of a training; False when it could not be within some seconds."""
        deadline_s = time.monotonic() + SETTLE_S
        while self._line is not None and self._uses.series():
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or self._go_on(left_s) is False:
                return False
        return True

    def _go_on(self, wait_s: float) -> bool | None:
        """Hear the last answer, if it has come, and tell what is new."""
        noted = self._answer(wait_s) if self._answer is not None else None
        if self._answer is not None and noted is None:
            return None
        self._answer = None
        if noted:
            self._uses.confirm(self._told_step)
        uses = self._uses.series()
        if uses and self._line is not None:
            self._told_step, self._answer = self._step, self._line.tell(uses)
        return noted
