"""How parameters change: the contract of every update rule."""

from __future__ import annotations

from typing import Any, Protocol

from torch.optim import Optimizer


class Rule(Protocol):
    """One change of parameters from their gradients, and the schedule of its learning rate."""

    optimizer: Optimizer

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update."""
        ...

    def updated(self) -> None:
        """Note that the optimizer has made one update."""
        ...

    def epoch_ended(self) -> None:
        """Note that every sample has been used once more."""
        ...

    def validated(self, value: float) -> None:
        """Note a fresh value of the watched metric."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on as if never stopped."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        ...
