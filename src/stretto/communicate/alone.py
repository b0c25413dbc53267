"""A group of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


class Done:
    """An exchange that needed nobody."""

    def wait(self) -> None:
        """Return at once."""


class Alone:
    """The transport of a single worker: every sum is already there and nothing travels."""

    rank = 0
    size = 1
    sent_bytes = 0
    received_bytes = 0
    waited_s = 0.0

    def sum(self, tensor: Tensor) -> Done:
        """Leave the tensor as it is."""
        return Done()

    def gather(self, tensor: Tensor, uneven: bool = False) -> list[Tensor]:
        """Return the one tensor there is."""
        return [tensor]

    def broadcast(self, tensor: Tensor, source: int = 0) -> None:
        """Leave the tensor as it is."""

    def split(self, purpose: str) -> Alone:
        """Return itself: nothing can get out of order."""
        return self

    def close(self) -> None:
        """Nothing was opened."""
