"""A seeded virtual world: time, delays, losses, doubles, reordering and partitions, for machines that are sans I/O.

    def story(world):
        link = Link(world, deliver=received.append, delay_s=(0.0, 0.1), drop=0.1)
        link.send("hello")
        world.run(until_s=1.0)

    explore(story, seeds=range(1000))

One seed is one world: the same seed gives the same story again. A story that fails names its seed.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterable
from typing import Any


class World:
    """Virtual time, and one source of chance for everything that happens in it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.now_s = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def after(self, delay_s: float, action: Callable[[], None]) -> None:
        """Let something happen later."""
        heapq.heappush(self._heap, (self.now_s + delay_s, next(self._order), action))

    def every(self, period_s: float, action: Callable[[], bool]) -> None:
        """Let something happen again and again for as long as it returns True."""

        def again() -> None:
            if action():
                self.after(period_s, again)

        self.after(period_s, again)

    def run(self, until_s: float, done: Callable[[], bool] = lambda: False) -> None:
        """Let things happen in their order until then, or until `done`."""
        while self._heap and self._heap[0][0] <= until_s and not done():
            self.now_s, _order, action = heapq.heappop(self._heap)
            action()

    def happens(self, probability: float) -> bool:
        """Whether something of this probability happens now."""
        return self.chance.random() < probability


class Link:
    """One direction between two parties.

    As it is made it is a stream: late, but whole and in order. With `drop`, `double` and `reorder` it is a worse one.
    `blocked` holds everything back until `unblock`, `cut` loses what is on its way, and all that comes.
    """

    def __init__(
        self,
        world: World,
        deliver: Callable[[Any], None],
        *,
        delay_s: tuple[float, float] = (0.001, 0.05),
        drop: float = 0.0,
        double: float = 0.0,
        reorder: bool = False,
    ) -> None:
        self.blocked = False
        self._world, self._deliver, self._delay_s = world, deliver, delay_s
        self._drop, self._double, self._reorder = drop, double, reorder
        self._last_s = 0.0
        self._held: list[Any] = []
        self._is_cut = False

    def send(self, message: Any) -> None:
        """Put a message on its way."""
        if self._world.happens(self._drop):
            return
        for _ in range(2 if self._world.happens(self._double) else 1):
            arrival_s = self._world.now_s + self._world.chance.uniform(*self._delay_s)
            if not self._reorder:
                arrival_s = self._last_s = max(self._last_s, arrival_s)
            self._world.after(arrival_s - self._world.now_s, lambda: self._arrive(message))

    def unblock(self) -> None:
        """Deliver what was held back, and hold nothing back any more."""
        self.blocked = False
        held, self._held = self._held, []
        for message in held:
            self._arrive(message)

    def cut(self) -> None:
        """Lose everything from now on."""
        self._is_cut = True
        self._held.clear()

    def _arrive(self, message: Any) -> None:
        if self._is_cut:
            return
        if self.blocked:
            self._held.append(message)
        else:
            self._deliver(message)


def explore(story: Callable[[World], None], seeds: Iterable[int]) -> int:
    """Tell the story in one world per seed; the first that fails is named. Returns how many were told."""
    count = 0
    for seed in seeds:
        try:
            story(World(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        count += 1
    return count
