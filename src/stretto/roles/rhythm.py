"""When something is due, in steps: budgets such as `1ep`, `2000step` or `10min` made into a pure question."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stretto.job import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """Something that comes every so many steps, or every so many seconds, whichever is first.

    Steps are the same on all seats, so they need no agreement; seconds are not, and have to be voted on.

    >>> Rhythm.of(Budget.parse("0.5ep"), steps_per_epoch=9).step_due(9)
    True
    """

    steps: tuple[float, ...] = ()
    seconds: float | None = None

    @classmethod
    def of(cls, budget: Budget | None, steps_per_epoch: int) -> Rhythm:
        """Turn a job's budget into a rhythm; no budget is never due."""
        if budget is None:
            return cls()
        steps = [budget.epochs * steps_per_epoch] if budget.epochs is not None else []
        steps += [float(budget.steps)] if budget.steps is not None else []
        return cls(steps=tuple(max(each, 1.0) for each in steps), seconds=budget.seconds)

    @property
    def end_step(self) -> int | None:
        """The first step at which it is due: the last step, for the budget of a whole training."""
        return min((math.ceil(each) for each in self.steps), default=None)

    def step_due(self, step: int) -> bool:
        """Whether it is due after so many steps: a multiple has been reached that was not reached a step before."""
        return any(math.floor(step / each) > math.floor((step - 1) / each) for each in self.steps)

    def time_due(self, since_s: float) -> bool:
        """Whether it is due so many seconds after the last time."""
        return self.seconds is not None and since_s >= self.seconds
