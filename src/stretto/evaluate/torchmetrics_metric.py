"""Metrics of torchmetrics, whose states are brought together over our transport."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from stretto.communicate.transport import Transport
from stretto.errors import JobError, MissingExtra, ModelError, Problem, choose
from stretto.job import Choice

DIMENSIONS_LIMIT = 8
DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool,
)  # fmt: skip


class TorchmetricsMetric:
    """A class of torchmetrics, by name or as `module:Class`, that counts every sample of all workers once.

    Every state is gathered over the transport and reduced as torchmetrics itself says, whether the seats are
    processes or threads; a worker that had no samples takes part with empty states.
    """

    def __init__(self, choice: Choice, transport: Transport) -> None:
        self.name = choice.name.rpartition(":")[2]
        self._metric = _make(choice)
        self._transport = transport
        self.higher_is_better: bool | None = self._metric.higher_is_better
        self.sums = torch.zeros(0, dtype=torch.float64)
        for part in self._metric.modules():
            if hasattr(part, "dist_sync_fn"):
                part.dist_sync_fn = self._gather
                part.distributed_available_fn = lambda: transport.size > 1

    def reset(self) -> None:
        """Forget all batches."""
        self._metric.reset()

    def update(self, outputs: Any, targets: Any, loss_sum: Tensor, weight: float) -> None:
        """Hand the batch to torchmetrics."""
        self._metric.to(loss_sum.device).update(outputs, targets)

    def value(self, sums: Tensor) -> float:
        """Compute over all workers; raises `ModelError` when the metric is not a single number."""
        self._check_lists()
        if not self._metric.update_called:
            self._metric._update_count = 1  # other seats had samples: what is computed next is theirs
        value = self._metric.compute()
        if not isinstance(value, Tensor) or value.numel() != 1:
            shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise ModelError(f"{self.name} gives {shape} and not one number; add an argument such as average: macro")
        return float(value)

    def _check_lists(self) -> None:
        """Refuse states that are one list entry per batch where seats had unlike numbers of batches."""
        lists = [state for state in self._metric.metric_state.values() if isinstance(state, list)]
        own = torch.tensor([len(state) for state in lists], dtype=torch.int64)
        uncombined = [reduction is None for name, reduction in self._metric._reductions.items() if self._is_list(name)]
        for theirs in self._transport.gather(own) if any(uncombined) else ():
            if any(a != b for a, b, loose in zip(own.tolist(), theirs.tolist(), uncombined, strict=True) if loose):
                raise ModelError(f"{self.name} keeps each batch by itself and cannot be shared; use cluster.workers: 1")

    def _is_list(self, name: str) -> bool:
        return isinstance(self._metric.metric_state[name], list)

    def _gather(self, state: Tensor, group: Any = None) -> list[Tensor]:
        """What torchmetrics calls to get everyone's state; shapes may differ, and an empty one may be of any type."""
        shapes = self._transport.gather(_described(state))
        content = state.detach().contiguous().reshape(-1).view(torch.uint8)
        parts = self._transport.gather(content, uneven=True)
        whole = [_restored(part, shape.tolist()) for part, shape in zip(parts, shapes, strict=True)]
        filled = next((part for part in whole if part.numel()), whole[0])
        return [part if part.numel() else filled[:0] if filled.dim() else part for part in whole]


def _make(choice: Choice) -> Any:
    try:
        import torchmetrics
    except ImportError as error:
        raise MissingExtra("torchmetrics", "metrics") from error
    if ":" in choice.name:
        module, _, name = choice.name.partition(":")
        kind = getattr(import_module(module), name)
    else:
        kind = getattr(torchmetrics, choice.name, None)
    if not (isinstance(kind, type) and issubclass(kind, torchmetrics.Metric)):
        from stretto.evaluate import METRICS

        known = [*METRICS, *(name for name in torchmetrics.__all__ if name[0].isupper())]
        raise JobError([Problem(message=choose("metric", choice.name, known), key="validation.metrics")])
    try:
        return kind(**choice.arguments)
    except (TypeError, ValueError) as error:
        message = f"{choice.name} cannot be made with {choice.arguments}: {error}"
        raise JobError([Problem(message=message, key="validation.metrics")]) from error


def _described(state: Tensor) -> Tensor:
    if state.dtype not in DTYPES or state.dim() > DIMENSIONS_LIMIT:
        raise ModelError(f"a metric's state of type {state.dtype} and {state.dim()} dimensions cannot travel")
    padding = [0] * (DIMENSIONS_LIMIT - state.dim())
    return torch.tensor([DTYPES.index(state.dtype), state.dim(), *state.shape, *padding], device=state.device)


def _restored(content: Tensor, description: list[int]) -> Tensor:
    dtype, dimensions = DTYPES[description[0]], description[1]
    return content.view(dtype).reshape(description[2 : 2 + dimensions])
