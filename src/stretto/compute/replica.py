"""One full copy of the model, able to learn from its share of a batch and to be updated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from stretto.compute.gradients import Gradients
from stretto.compute.precision import Precision
from stretto.compute.tally import Tally
from stretto.compute.task import Task
from stretto.data.batch import Batch
from stretto.update.rule import Rule


class Replica:
    """The model with its task, its gradients and its rule, on one device.

    `nominal` is the size of a full global batch. Losses are divided by it before backward, so that scaled losses keep
    their range, and `update` corrects by the weight that was really there: the exact mean, whatever the shares were.
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        rule: Rule,
        precision: Precision,
        *,
        nominal: int,
        clip: float | None = None,
        device: str = "cpu",
    ) -> None:
        self.model, self.task, self.rule, self.precision = model, task, rule, precision
        self.nominal, self.clip, self.device = nominal, clip, device
        self.gradients = Gradients(model.parameters())
        self.before_update: Callable[[], None] = lambda: None
        self.always_forward = any(getattr(module, "synchronised", False) for module in model.modules())
        self._unread = Unread()
        self._heard: list[tuple[Tensor, Tensor]] = []

    def learn(self, parts: Sequence[Batch], read: bool = True) -> Tally:
        """Add up the gradients of this seat's share, given in micro-batches; return its tally.

        A seat without samples computes nothing, unless its model speaks with the others while it computes. To `read`
        the loss means to wait for the device; what was not read before is read with it.
        """
        self.gradients.clear()
        weight = samples = 0.0
        for index, part in enumerate(parts):
            self.gradients.closing = index == len(parts) - 1
            if len(part) or self.always_forward:
                weight += self._learn_part(part)
                samples += len(part)
        self.gradients.finish()
        judged, loss = self._unread.take() if read else (0.0, 0.0)
        return Tally(weight=weight, loss=loss, judged=judged, samples=samples)

    def heard(self) -> tuple[Tensor, Tensor]:
        """The samples that counted unequally since the last call, and the loss of each: an order learns from them."""
        heard, self._heard = self._heard, []
        samples, losses = (torch.cat(each) for each in zip(*heard, strict=True)) if heard else (torch.empty(0),) * 2
        return samples.long(), losses.double().cpu()

    def update(self, weight: float) -> None:
        """Turn summed gradients into their mean and let the rule act on them."""
        self.gradients.settle(self.nominal / weight if weight else 0.0)
        self.precision.unscale(self.rule.optimizer)
        self.before_update()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        if self.precision.update(self.rule.optimizer):
            self.rule.updated()

    def _learn_part(self, part: Batch) -> float:
        weight = self.task.weight(part.targets) if len(part) else 0.0
        there = part.to(self.device)
        with self.precision.computing():
            outputs = self.model(there.inputs)
            loss = self._loss(outputs, there) if len(part) else _nothing(outputs)
        self.precision.scale(loss / self.nominal).backward()
        self._unread.add(weight, loss.detach())
        return weight

    def _loss(self, outputs: Any, part: Batch) -> Tensor:
        if part.weights is None:
            return self.task.loss(outputs, part.targets)
        losses = self.task.losses(outputs, part.targets)
        self._heard.append((part.indices, losses.detach()))
        return (losses * part.weights).sum()


class Unread:
    """Losses that are still on the device, with what they are sums over."""

    def __init__(self) -> None:
        self._weight = 0.0
        self._losses: list[Tensor] = []

    def add(self, weight: float, loss: Tensor) -> None:
        """Take in one more loss."""
        self._weight += weight
        self._losses.append(loss)

    def take(self) -> tuple[float, float]:
        """Wait for the device, return the weight and the sum of the losses, and begin anew."""
        weight, losses = self._weight, self._losses
        self._weight, self._losses = 0.0, []
        return weight, sum(torch.stack(losses).tolist()) if losses else 0.0


def _nothing(outputs: Any) -> Tensor:
    """The loss of no samples: zero, with a way back through the model, which the other seats wait for."""
    found = [each.sum() for each in pytree.tree_leaves(outputs) if isinstance(each, Tensor) and each.requires_grad]
    return torch.stack(found).sum() if found else torch.zeros((), requires_grad=True)
