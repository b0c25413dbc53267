"""How fast the workers are beside each other, and which shares of a batch follow from that. Sans I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

FIRST_STEPS: Final = 8
LARGEST_STEPS: Final = 256
SMOOTHING: Final = 0.5
BOUND: Final = 8.0
TOLERANCE: Final = 0.05
UNEQUAL: Final = 1.5
LASTING_S: Final = 10.0


class Pace:
    """How many samples this worker manages in a second of its own: waiting for others does not count."""

    def __init__(self) -> None:
        self._samples = 0
        self._since: tuple[float, float] | None = None

    def begin(self, now_s: float, waited_s: float) -> None:
        """Measure from here on: at the beginning, and after whatever is not training."""
        self._samples, self._since = 0, (now_s, waited_s)

    def count(self, samples: int) -> None:
        """Take in what an update used."""
        self._samples += samples

    def rate(self, now_s: float, waited_s: float) -> float:
        """Return samples per second since `begin`; nan where nothing was done."""
        if self._since is None or not self._samples:
            return math.nan
        own_s = (now_s - self._since[0]) - (waited_s - self._since[1])
        return self._samples / max(own_s, 1e-9)


class Balance:
    """Turns everybody's measured rates into shares: smoothed, bounded, and left alone while they are about right.

    Rates are exchanged after 8 updates, and then at growing distances up to 256. All workers hear the same rates and so
    come to the same shares.

    >>> balance = Balance(2)
    >>> balance.hear([300.0, 100.0], now_s=0.0)
    >>> balance.shares()
    (0.75, 0.25)
    """

    def __init__(self, size: int) -> None:
        self._rates = [math.nan] * size
        self._shares = [1.0 / size] * size
        self._due_step = self._steps = FIRST_STEPS
        self._unequal_s: float | None = None

    def due(self, steps: int) -> bool:
        """Whether rates are to be exchanged after so many updates since the start."""
        if steps < self._due_step:
            return False
        self._steps = min(2 * self._steps, LARGEST_STEPS)
        self._due_step = steps + self._steps
        return True

    def hear(self, rates: Sequence[float], now_s: float) -> None:
        """Take in the rates of all workers."""
        pairs = zip(self._rates, rates, strict=True)
        self._rates = [_smooth(old, new) for old, new in pairs]
        if self._ratio() <= UNEQUAL:
            self._unequal_s = None
        elif self._unequal_s is None:
            self._unequal_s = now_s

    def shares(self) -> tuple[float, ...] | None:
        """Return new shares of a batch, or None where the present ones are about right or nothing is known."""
        if any(math.isnan(rate) for rate in self._rates):
            return None
        even = 1.0 / len(self._rates)
        wanted = [rate / sum(self._rates) for rate in self._rates]
        bounded = [min(max(each, even / BOUND), even * BOUND) for each in wanted]
        shares = [each / sum(bounded) for each in bounded]
        if all(abs(new - old) <= TOLERANCE * old for new, old in zip(shares, self._shares, strict=True)):
            return None
        self._shares = shares
        return tuple(shares)

    def slowest(self, now_s: float) -> tuple[int, float] | None:
        """The rank of a worker that has been much slower than the fastest for a while, and how many times slower."""
        if self._unequal_s is None or now_s - self._unequal_s < LASTING_S:
            return None
        return min(range(len(self._rates)), key=self._rates.__getitem__), self._ratio()

    def _ratio(self) -> float:
        known = [rate for rate in self._rates if not math.isnan(rate)]
        return max(known) / min(known) if known and min(known) > 0 else 1.0


def _smooth(old: float, new: float) -> float:
    if math.isnan(new) or math.isnan(old):
        return old if math.isnan(new) else new
    return SMOOTHING * new + (1 - SMOOTHING) * old
