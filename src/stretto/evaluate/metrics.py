"""The metrics that are built in."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from stretto.errors import ModelError

IGNORED = -100  # the target that does not count, as in torch.nn.functional.cross_entropy


class Quotient:
    """A metric that is one sum divided by another."""

    name: str
    higher_is_better: bool | None = None

    def __init__(self) -> None:
        self.sums = torch.zeros(2, dtype=torch.float64)

    def reset(self) -> None:
        """Forget all batches."""
        self.sums = torch.zeros(2, dtype=torch.float64)

    def value(self, sums: Tensor) -> float:
        """Divide; without samples the result is nan."""
        above, below = sums.tolist()
        return float(above / below) if below else math.nan

    def _add(self, above: Tensor, below: Tensor | float) -> None:
        self.sums = self.sums.to(above.device)
        self.sums[0] += above
        self.sums[1] += below


class Loss(Quotient):
    """The task's loss per sample, or per token."""

    name = "loss"
    higher_is_better = False

    def update(self, outputs: Any, targets: Any, loss_sum: Tensor, weight: float) -> None:
        """Add the batch's loss and weight."""
        self._add(loss_sum.detach().double(), weight)


class Perplexity(Loss):
    """Among how many equally likely tokens the model hesitates: e to the power of the loss per token."""

    name = "perplexity"

    def value(self, sums: Tensor) -> float:
        """Raise e to the mean loss; a loss beyond all bounds is infinitely perplexing."""
        try:
            return math.exp(super().value(sums))
        except OverflowError:
            return math.inf


class Accuracy(Quotient):
    """The part of the targets that got the highest score; targets of -100 do not count.

    Scores are (N, classes), (N, classes, …) beside targets (N, …), or (N, T, vocabulary) beside (N, T).
    """

    name = "accuracy"
    higher_is_better = True

    def update(self, outputs: Any, targets: Any, loss_sum: Tensor, weight: float) -> None:
        """Count the targets, and those that were met; raises `ModelError` for shapes that do not go together."""
        dimension = _class_dimension(outputs, targets)
        guesses = outputs.argmax(dimension)
        counted = targets != IGNORED
        self._add(((guesses == targets) & counted).sum(), counted.sum())


def _class_dimension(outputs: Any, targets: Any) -> int:
    if isinstance(outputs, Tensor) and isinstance(targets, Tensor) and outputs.dim() == targets.dim() + 1:
        if outputs.shape[:-1] == targets.shape:
            return -1
        if outputs.shape[:1] + outputs.shape[2:] == targets.shape:
            return 1
    raise ModelError(
        f"accuracy needs scores (N, classes) beside class numbers (N); the model gave {_shape(outputs)} "
        f"beside targets {_shape(targets)}; leave accuracy out of validation.metrics or change the model's last layer"
    )


def _shape(value: Any) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__
