"""Any map-style torch Dataset as a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, default_collate

from stretto.data.batch import Batch
from stretto.data.facts import facts_of
from stretto.errors import DataError


class TorchDataset:
    """A Dataset whose items are (input, target); `collate` makes a batch of a list of items, as in a DataLoader.

    The number of classes is known when the dataset says it (`classes`, as torchvision's do). What the dataset raises
    reaches the person unchanged. It is not read ahead, because datasets often draw random numbers (augmentation).
    """

    ahead = False

    def __init__(
        self, dataset: Any, name: str | None = None, collate: Callable[[list[Any]], Any] = default_collate
    ) -> None:
        self.name = name or type(dataset).__name__
        by_number = all(hasattr(dataset, method) for method in ("__getitem__", "__len__"))
        if isinstance(dataset, IterableDataset) or not by_number:
            raise DataError(
                f"{self.name}: {type(dataset).__name__} cannot be read by number; "
                "give a dataset with __getitem__ and __len__, so that workers can share it and resume in it"
            )
        self._dataset, self._collate = dataset, collate
        if not len(self):
            raise DataError(f"{self.name}: there are no samples")
        first = self.read([0])
        classes: Any = getattr(dataset, "classes", None)
        self.facts = facts_of(first.inputs, first.targets, len(classes) if hasattr(classes, "__len__") else None)

    def __len__(self) -> int:
        return len(self._dataset)

    def read(self, indices: Sequence[int]) -> Batch:
        """Get the items one by one, or at once where the dataset can (`__getitems__`), and collate them."""
        together = getattr(self._dataset, "__getitems__", None)
        items = together(list(indices)) if together else [self._dataset[index] for index in indices]
        return collate_pairs(items, indices, self._collate, self.name)


def collate_pairs(items: list[Any], indices: Sequence[int], collate: Callable[[list[Any]], Any], name: str) -> Batch:
    """Make a batch of items (input, target); `DataError` where they are something else."""
    collated = collate(items)
    if not isinstance(collated, (tuple, list)) or len(collated) != 2:
        raise DataError(f"{name}: item {indices[0]} is no pair; items must be (input, target)")
    for part, value in zip(("input", "target"), collated, strict=True):
        _check_tensors(value, f"{name}: the {part} of item {indices[0]}")
    return Batch(collated[0], collated[1], torch.tensor(list(indices), dtype=torch.int64))


def _check_tensors(value: Any, what: str) -> None:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else None
    if parts is None and not isinstance(value, Tensor):
        raise DataError(f"{what} is {type(value).__name__}; make it a number, an array or a tensor")
    for part in parts or ():
        _check_tensors(part, what)
