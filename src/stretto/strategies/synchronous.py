"""Synchronous: every update is that of one big batch.

What travels: gradients, while backward still runs. With whom: all replicas. When: every step. How combined: summed,
divided by the weight of the whole batch, then one and the same update everywhere.
"""

from __future__ import annotations

from typing import Any, ClassVar

from stretto.communicate.transport import Pending, Transport
from stretto.compute.gradients import Bucket
from stretto.compute.replica import Replica
from stretto.compute.tally import Tally
from stretto.strategies.averaging import equalise
from stretto.strategies.strategy import FailurePolicy


class Synchronous:
    """All replicas do the same update at the same time and stay equal bit for bit."""

    failure: ClassVar[FailurePolicy] = "gang"
    replicas_equal: ClassVar[bool] = True

    def __init__(self) -> None:
        self._travelling: list[Pending] = []

    def join(self, replica: Replica, transport: Transport) -> None:
        """Take over the first replica's weights and let every complete bucket travel at once."""
        self._replica, self._transport = replica, transport
        equalise(replica.model, transport)
        if transport.size > 1:
            replica.gradients.travel(self._send)

    def before_step(self, step: int) -> None:
        """Forget a step that was broken off."""
        self._travelling.clear()

    def after_backward(self, step: int, tally: Tally, meet: bool) -> Tally:
        """Wait for the sums, and update by the mean."""
        total = tally.vector()
        self._travelling.append(self._transport.sum(total))
        for pending in self._travelling:
            pending.wait()
        agreed = Tally.of(total)
        self._replica.update(agreed.weight)
        return agreed

    def leave(self) -> None:
        """Let gradients stay at home again."""
        self._replica.gradients.stay()

    def state_dict(self) -> dict[str, Any]:
        """Nothing: a step leaves nothing behind."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing to take over."""

    def _send(self, bucket: Bucket) -> None:
        self._travelling.append(self._transport.sum(bucket.flat))
