"""One full copy of the model, able to learn from its share of a batch and to be updated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from stretto.compute.gradients import Gradients
from stretto.compute.precision import Precision
from stretto.compute.tally import Tally
from stretto.compute.task import Task
from stretto.update.rule import Rule


class Replica:
    """The model with its task, its gradients and its rule.

    `nominal` is the size of a full global batch. Losses are divided by it before backward, so that scaled losses keep
    their range, and `update` corrects by the weight that was really there: the exact mean, whatever the shares were.
    """

    def __init__(
        self, model: nn.Module, task: Task, rule: Rule, precision: Precision, *, nominal: int, clip: float | None = None
    ) -> None:
        self.model, self.task, self.rule, self.precision = model, task, rule, precision
        self.nominal, self.clip = nominal, clip
        self.gradients = Gradients(model.parameters())
        self.before_update: Callable[[], None] = lambda: None
        self.always_forward = any(getattr(module, "synchronised", False) for module in model.modules())

    def learn(self, parts: Sequence[tuple[Any, Any]]) -> Tally:
        """Add up the gradients of this seat's share, given as micro-batches of (inputs, targets); return its tally.

        A seat without samples computes nothing, unless its model speaks with the others while it computes.
        """
        self.gradients.clear()
        tally = Tally()
        for index, (inputs, targets) in enumerate(parts):
            self.gradients.closing = index == len(parts) - 1
            samples = _length(inputs)
            if samples or self.always_forward:
                tally += self._learn_part(inputs, targets, samples)
        self.gradients.finish()
        return tally

    def update(self, weight: float) -> None:
        """Turn summed gradients into their mean and let the rule act on them."""
        self.gradients.settle(self.nominal / weight if weight else 0.0)
        self.precision.unscale(self.rule.optimizer)
        self.before_update()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        if self.precision.update(self.rule.optimizer):
            self.rule.updated()

    def _learn_part(self, inputs: Any, targets: Any, samples: int) -> Tally:
        with self.precision.computing():
            loss, weight = self.task.losses(self.model(inputs), targets)
        self.precision.scale(loss / self.nominal).backward()
        return Tally(weight=weight, loss=float(loss.detach()), samples=samples, seats=0.0)


def _length(inputs: Any) -> int:
    while not isinstance(inputs, Tensor):
        inputs = next(iter(inputs.values() if isinstance(inputs, dict) else inputs))
    return len(inputs)
