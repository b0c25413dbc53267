"""A metric and the direction in which it gets better."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from stretto.errors import JobError, Problem, choose
from stretto.evaluate.metric import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A metric that somebody watches; nan is worse than everything.

    >>> Watched(metric="accuracy", higher=True).better(0.98, than=0.97)
    True
    """

    metric: str
    higher: bool

    def better(self, value: float, than: float | None) -> bool:
        """Whether a value is an improvement; anything but nan improves on None."""
        if math.isnan(value):
            return False
        return than is None or (value > than if self.higher else value < than)

    def reached(self, value: float, target: float) -> bool:
        """Whether a value is as good as the target."""
        return value >= target if self.higher else value <= target


def watch(name: str, metrics: Iterable[Metric], key: str, higher: bool | None = None) -> Watched:
    """Watch one of the validated metrics; `key` is where the job names it, `higher` what it says of its direction.

    Raises `JobError` when the metric is not validated, or when nobody knows which way it gets better.
    """
    known = {metric.name: metric.higher_is_better for metric in metrics}
    if name not in known:
        message = f"{choose('metric', name, known)}, or add it to validation.metrics"
        raise JobError([Problem(message=message, key=key)])
    direction = known[name] if higher is None else higher
    if direction is None:
        message = f"whether more {name} is better is not known; write checkpoint.best: {{name: {name}, higher: true}}"
        raise JobError([Problem(message=message, key=key)])
    return Watched(metric=name, higher=direction)
