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

    weight: float = 0.0  # what the loss is a mean over: samples, or tokens
    loss: float = 0.0  # sum over the weight
    samples: float = 0.0
    seats: float = 1.0
    stop: float = 0.0  # votes: stop after this update, the training is done
    asked: float = 0.0  # votes: stop after this update, somebody outside has asked for it
    save: float = 0.0  # votes: write a checkpoint after this update
    idle: float = 0.0  # votes: this seat has written its part of the checkpoint that was begun

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__})

    @property
    def mean_loss(self) -> float:
        """The loss per sample (or token) over all seats."""
        return self.loss / self.weight if self.weight else float("nan")

    def vector(self) -> Tensor:
        """The form in which it travels: exact for counts up to 2^53."""
        return torch.tensor([getattr(self, name) for name in self.__dataclass_fields__], dtype=torch.float64)

    @classmethod
    def of(cls, vector: Tensor) -> Tally:
        """Read a tally from its travelling form."""
        return cls(**dict(zip(cls.__dataclass_fields__, vector.tolist(), strict=True)))
