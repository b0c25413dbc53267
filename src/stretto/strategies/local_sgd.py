"""Local SGD: learn alone for a while, then take the mean.

What travels: parameters. With whom: all replicas. When: every `interval` steps, at the end of each epoch and whenever
something has to be agreed. How combined: their mean.
"""

from __future__ import annotations

from typing import Any, ClassVar

from stretto.communicate.transport import Transport
from stretto.compute.replica import Replica
from stretto.compute.tally import Tally
from stretto.strategies.averaging import average, equalise
from stretto.strategies.strategy import FailurePolicy


class LocalSgd:
    """Replicas update on their own and meet every `interval` steps, which costs `interval` times less traffic.

    Between meetings replicas differ; validation, checkpoints and stops happen at meetings only, where they are equal
    but for the optimizers' own state.
    """

    failure: ClassVar[FailurePolicy] = "gang"
    replicas_equal: ClassVar[bool] = False

    def __init__(self, interval: int = 8) -> None:
        self.interval = interval
        self._alone = Tally(seats=0.0)

    def join(self, replica: Replica, transport: Transport) -> None:
        """Take over the first replica's weights."""
        self._replica, self._transport = replica, transport
        equalise(replica.model, transport)

    def before_step(self, step: int) -> None:
        """Nothing to fetch."""

    def after_backward(self, step: int, tally: Tally, meet: bool) -> Tally | None:
        """Update by the own share's mean; every `interval` steps take the mean of all replicas."""
        if tally.weight:
            self._replica.update(tally.weight)
        self._alone = since_meeting(self._alone, tally)
        if not meet and (step + 1) % self.interval:
            return None
        average(self._replica.model, self._transport)
        total = self._alone.vector()
        self._transport.sum(total).wait()
        self._alone = Tally(seats=0.0)
        return Tally.of(total)

    def leave(self) -> None:
        """Nothing to undo."""

    def state_dict(self) -> dict[str, Any]:
        """Nothing: checkpoints are taken at meetings."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing to take over."""


def since_meeting(before: Tally, now: Tally) -> Tally:
    """Add up the counts of several steps; of votes the latest stands."""
    return Tally(
        weight=before.weight + now.weight,
        loss=before.loss + now.loss,
        judged=before.judged + now.judged,
        samples=before.samples + now.samples,
        seats=now.seats,
        stop=now.stop,
        asked=now.asked,
        save=now.save,
        idle=now.idle,
    )
