"""What a model is to learn: how its outputs and the targets become a loss."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

import torch.nn.functional as F
from torch import Tensor

from stretto.errors import ModelError
from stretto.job import Choice, find, make

Loss = Callable[[Any, Any], Tensor]
IGNORED = -100


class Task(Protocol):
    """A loss that is a sum over samples (or tokens), and how many of them count.

    Sums, not means, travel between workers: only so is the gradient of an uneven batch the exact mean. The weight is
    asked for before the targets are moved to a device, so that nobody has to wait for the device to learn it.
    """

    def weight(self, targets: Any) -> float:
        """Return how many samples (or tokens) there are: what a sum of losses is to be divided by."""
        ...

    def loss(self, outputs: Any, targets: Any) -> Tensor:
        """Return the sum of the losses, to be differentiated."""
        ...

    def losses(self, outputs: Any, targets: Any) -> Tensor:
        """Return the loss of each sample; they add up to `loss`. Asked for when samples count unequally."""
        ...


class Classification:
    """One class per sample: cross entropy of logits (N, classes, …) and class indices (N, …); -100 does not count."""

    def __init__(self, label_smoothing: float = 0.0) -> None:
        self.label_smoothing = label_smoothing

    def weight(self, targets: Tensor) -> float:
        """Count the samples that count."""
        return _counted(targets)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Sum the cross entropies of all samples."""
        smoothing = self.label_smoothing
        return F.cross_entropy(outputs, targets, reduction="sum", label_smoothing=smoothing, ignore_index=IGNORED)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return each sample's cross entropy, summed where it has several targets."""
        each = F.cross_entropy(
            outputs, targets, reduction="none", label_smoothing=self.label_smoothing, ignore_index=IGNORED
        )
        return _per_sample(each)


class Regression:
    """Numbers per sample: squared error, averaged over each sample's numbers."""

    def weight(self, targets: Tensor) -> float:
        """Count the samples."""
        return float(len(targets))

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Sum the squared errors of all samples."""
        errors = F.mse_loss(outputs, targets.to(outputs.dtype).reshape(outputs.shape), reduction="sum")
        return errors / max(outputs[0].numel() if len(outputs) else 1, 1)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return each sample's mean squared error."""
        errors = F.mse_loss(outputs, targets.to(outputs.dtype).reshape(outputs.shape), reduction="none")
        return _per_sample(errors) / max(outputs[0].numel() if len(outputs) else 1, 1)


class LanguageModelling:
    """The next token at every position: cross entropy of logits (N, T, vocabulary); targets of -100 do not count."""

    def weight(self, targets: Tensor) -> float:
        """Count the tokens that count."""
        return _counted(targets)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Sum the cross entropies of all tokens that count."""
        logits = outputs.reshape(-1, outputs.shape[-1])
        return F.cross_entropy(logits, targets.reshape(-1), reduction="sum", ignore_index=IGNORED)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the sum of each text's cross entropies."""
        logits = outputs.reshape(-1, outputs.shape[-1])
        each = F.cross_entropy(logits, targets.reshape(-1), reduction="none", ignore_index=IGNORED)
        return _per_sample(each.reshape(targets.shape))


class FunctionTask:
    """A loss function of one's own: (outputs, targets) to one loss per sample, or to their mean."""

    def __init__(self, function: Loss) -> None:
        self.function = function

    def weight(self, targets: Any) -> float:
        """Count the samples."""
        return float(_length(targets))

    def loss(self, outputs: Any, targets: Any) -> Tensor:
        """Sum per-sample losses; a mean is multiplied by the number of samples it was taken over."""
        loss = self.function(outputs, targets)
        if not isinstance(loss, Tensor):
            raise ModelError(
                f"the loss function returned {type(loss).__name__}; return a tensor of losses or their mean"
            )
        return loss * self.weight(targets) if loss.dim() == 0 else loss.sum() / loss[0].numel()

    def losses(self, outputs: Any, targets: Any) -> Tensor:
        """Return each sample's loss; a function that gives only their mean cannot be used here."""
        each = self.function(outputs, targets)
        if each.dim() == 0:
            raise ModelError("the loss function returned one number; this order of samples needs a loss of each sample")
        return _per_sample(each) / max(each[0].numel() if len(each) else 1, 1)


TASKS: Final = {
    "classification": f"{__name__}:Classification",
    "regression": f"{__name__}:Regression",
    "language_modelling": f"{__name__}:LanguageModelling",
}


def load_task(choice: Choice) -> Task:
    """Find the task a job names: a word of ours, or a loss function given as `module:function`."""
    if choice.name not in TASKS:
        return FunctionTask(partial(find("task", choice.name, TASKS, ModelError), **choice.arguments))
    task: Task = make("task", choice, TASKS, ModelError)
    return task


def _counted(targets: Tensor) -> float:
    """How many targets count; those given as probabilities all do."""
    return float(len(targets) if targets.is_floating_point() else (targets != IGNORED).sum())


def _per_sample(losses: Tensor) -> Tensor:
    return losses.reshape(len(losses), -1).sum(dim=1)


def _length(targets: Any) -> int:
    first = targets
    while not isinstance(first, Tensor):
        first = next(iter(first.values() if isinstance(first, dict) else first))
    return len(first)
