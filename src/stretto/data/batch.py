"""Samples that are computed together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs, targets and which samples of the source they are.

    `inputs` and `targets` are tensors, or dicts, tuples and lists of tensors, whose first dimension counts samples.
    `weights`, where an order gives them, say by how much each sample's loss counts.

    >>> batch = Batch(torch.zeros(4, 8), torch.zeros(4), torch.arange(4))
    >>> len(batch), len(batch.slice(0, 3))
    (4, 3)
    """

    inputs: Any
    targets: Any
    indices: Tensor
    weights: Tensor | None = None

    def __len__(self) -> int:
        return len(self.indices)

    def slice(self, start: int, stop: int) -> Batch:
        """Return a part of the samples, as views: a micro-batch."""
        return replace(self.each(lambda tensor: tensor[start:stop]), indices=self.indices[start:stop])

    def to(self, device: str | torch.device) -> Batch:
        """Return inputs and targets on a device; what is there already is not copied."""
        return self.each(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> Batch:
        """Return the batch in memory that a GPU reads by itself, so that nobody waits while it is copied there."""
        return self.each(lambda tensor: tensor.pin_memory())

    def each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """Return the batch with every tensor changed but the indices."""
        weights = None if self.weights is None else change(self.weights)
        return Batch(change_tensors(change, self.inputs), change_tensors(change, self.targets), self.indices, weights)


def change_tensors(change: Callable[[Tensor], Tensor], value: Any) -> Any:
    """Return the same dicts, tuples and lists around changed tensors; what is no tensor stays as it is."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: change_tensors(change, each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(change_tensors(change, each) for each in value))
    if isinstance(value, (tuple, list)):
        return type(value)(change_tensors(change, each) for each in value)
    return value
