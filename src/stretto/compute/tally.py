"""What seats tell each other at every meeting, beside the gradients."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts and votes of one seat, or their sums over all seats.

    The gradient of an update is the sum over all seats divided by `weight`, so that uneven shares give the exact mean.
    """

    weight: float = 0.0  # what the gradient is a mean over: samples, or tokens
    loss: float = 0.0  # sum of the losses that were read
    judged: float = 0.0  # what that is a sum over: the weight of this step, of several, or nothing
    samples: float = 0.0
    seats: float = 1.0
    stop: float = 0.0  # votes: stop after this update, the training is done
    asked: float = 0.0  # votes: stop after this update, somebody outside has asked for it
    save: float = 0.0  # votes: write a checkpoint after this update
    idle: float = 0.0  # votes: this seat has written its part of the checkpoint that was begun

    @property
    def mean_loss(self) -> float:
        """The loss per sample (or token) over all seats; nan when none was read."""
        return self.loss / self.judged if self.judged else float("nan")

    def vector(self) -> Tensor:
        """The form in which it travels: exact for counts up to 2^53."""
        return torch.tensor([getattr(self, name) for name in self.__dataclass_fields__], dtype=torch.float64)

    @classmethod
    def of(cls, vector: Tensor) -> Tally:
        """Read a tally from its travelling form."""
        return cls(**dict(zip(cls.__dataclass_fields__, vector.tolist(), strict=True)))
