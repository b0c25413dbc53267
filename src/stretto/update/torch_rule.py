"""Optimizers and schedules of PyTorch, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.nn import Parameter
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from stretto.errors import ModelError
from stretto.job import Choice, make

PER_UPDATE, PER_EPOCH = "update", "epoch"
LENGTHS = ("T_max", "total_steps", "total_iters")  # what schedules call the length of a training


class TorchRule:
    """Any optimizer of `torch.optim` with any schedule of `torch.optim.lr_scheduler`."""

    def __init__(self, optimizer: Optimizer, schedule: LRScheduler | None = None, per: str = PER_UPDATE) -> None:
        self.optimizer, self.schedule, self._per = optimizer, schedule, per

    @property
    def learning_rate(self) -> float:
        """The learning rate of the first group of parameters."""
        return float(self.optimizer.param_groups[0]["lr"])

    def updated(self) -> None:
        """Step a schedule that counts updates."""
        if self._per == PER_UPDATE:
            self._step()

    def epoch_ended(self) -> None:
        """Step a schedule that counts epochs."""
        if self._per == PER_EPOCH:
            self._step()

    def validated(self, value: float) -> None:
        """Step a schedule that waits for plateaus."""
        if isinstance(self.schedule, ReduceLROnPlateau):
            self.schedule.step(value)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's and the schedule's state."""
        schedule = self.schedule.state_dict() if self.schedule is not None else None
        return {"optimizer": self.optimizer.state_dict(), "schedule": schedule}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.optimizer.load_state_dict(state["optimizer"])
        if self.schedule is not None and state["schedule"] is not None:
            self.schedule.load_state_dict(state["schedule"])

    def _step(self) -> None:
        if self.schedule is not None and not isinstance(self.schedule, ReduceLROnPlateau):
            self.schedule.step()


def load_rule(
    parameters: Iterable[Parameter], optimizer: Choice, lr: float, schedule: Choice | None, per: str, length: int | None
) -> TorchRule:
    """Make the rule a job names; `length` (updates or epochs) completes a schedule that needs to know the end."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if not trained:
        raise ModelError("the model has no parameter that can be trained (requires_grad)")
    made = _make("training.optimizer", optimizer, torch.optim, Optimizer, params=trained, lr=lr)
    if schedule is None:
        return TorchRule(made)
    lengths = {key: length for key in LENGTHS if length is not None}
    home = torch.optim.lr_scheduler
    return TorchRule(made, _make("training.schedule", schedule, home, LRScheduler, optimizer=made, **lengths), per)


def _make(key: str, choice: Choice, home: Any, contract: type[Any], **known: Any) -> Any:
    table = {
        name: f"{home.__name__}:{name}"
        for name, value in vars(home).items()
        if isinstance(value, type) and issubclass(value, contract) and value is not contract
    }
    return make(key, choice, table, ModelError, **known)
