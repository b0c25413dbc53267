"""How replicas agree: the contract of every strategy."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol

from stretto.communicate.transport import Transport
from stretto.compute.replica import Replica
from stretto.compute.tally import Tally

FailurePolicy = Literal["gang", "independent", "quorum"]


class Strategy(Protocol):
    """What travels, with whom, when, and how it is combined.

    The loop calls `join` once, then for every step `before_step`, and `after_backward` when the seat's gradients are
    there. Whatever has to be agreed (stop, save, the loss) is agreed where replicas meet: `after_backward` then returns
    the sum of everybody's tallies. A lost peer surfaces as `PeerLost` from any of these; what happens then is the
    coordinator's decision, by the strategy's `failure` policy.
    """

    failure: ClassVar[FailurePolicy]
    replicas_equal: ClassVar[bool]  # all replicas are the same at every meeting, so one of them is all there is to save

    def join(self, replica: Replica, transport: Transport) -> None:
        """Make this replica equal to the others'."""
        ...

    def before_step(self, step: int) -> None:
        """Get ready for the step: the moment to fetch what others have changed."""
        ...

    def after_backward(self, step: int, tally: Tally, meet: bool) -> Tally | None:
        """Exchange and update; return everybody's tally when replicas met, as they must when `meet` is set."""
        ...

    def leave(self) -> None:
        """Part from the others in order."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """What the strategy itself has to remember."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what was remembered."""
        ...
