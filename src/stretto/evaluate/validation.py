"""How good the model is on data it has not learned from, over all workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import Module

from stretto.communicate.transport import Transport
from stretto.compute.task import Task
from stretto.data.batch import Batch
from stretto.errors import DataError
from stretto.evaluate.metric import Metric


class Validation:
    """Lets every worker judge the model on its own part of the data, and adds the parts up.

    Parts may differ in size or be empty, and nothing is padded: the workers meet once, after their last batch, over one
    tensor of float64 sums. So the result is that of one worker with all the data, and the same on every worker.

    A worker that raises makes the others raise `PeerLost` when they come to the meeting.
    """

    def __init__(self, loader: Iterable[Batch], metrics: Sequence[Metric], transport: Transport, task: Task) -> None:
        self._loader, self._metrics, self._transport, self._task = loader, metrics, transport, task

    def run(self, model: Module) -> dict[str, float]:
        """Judge the model and return every metric by name; it is left in the mode it came in.

        Raises `DataError` when no worker had any data.
        """
        for metric in self._metrics:
            metric.reset()
        device = next(model.parameters(), torch.empty(0)).device
        with _judging(model), torch.no_grad():
            samples = sum(self._judge(model, batch, device) for batch in self._loader if len(batch))
        sums = self._add_up(samples, device)
        return {metric.name: metric.value(part) for metric, part in zip(self._metrics, sums, strict=True)}

    def _judge(self, model: Module, batch: Batch, device: torch.device) -> int:
        weight, there = self._task.weight(batch.targets), batch.to(device)
        outputs = model(there.inputs)
        loss_sum = self._task.loss(outputs, there.targets)
        for metric in self._metrics:
            metric.update(outputs, there.targets, loss_sum, weight)
        return len(batch)

    def _add_up(self, samples: int, device: torch.device) -> Sequence[Tensor]:
        own = [torch.tensor([samples], dtype=torch.float64), *(metric.sums for metric in self._metrics)]
        together = torch.cat([part.to(device) for part in own])
        self._transport.sum(together).wait()
        count, *sums = torch.split(together.cpu(), [len(part) for part in own])
        if not count.item():
            raise DataError("there is no validation data; give the data set some, or set validation.every: null")
        return sums


@contextmanager
def _judging(model: Module) -> Iterator[None]:
    """Evaluation mode; afterwards every module is in its own mode again, frozen ones too."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
