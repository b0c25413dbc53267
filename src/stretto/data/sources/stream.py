"""A torch IterableDataset as a source, which is read from its beginning to its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from torch.utils.data import default_collate

from stretto.data.batch import Batch
from stretto.data.facts import facts_of
from stretto.data.sources.torch_dataset import collate_pairs
from stretto.errors import DataError


class Stream:
    """Items (input, target) in the order in which they come; sample 5 is the sixth item of an iteration.

    Whoever reads should ask in rising order; what is left out is passed over. Asking for a sample that is gone begins
    the next iteration, a new epoch for example, and passes over all that stands before it.
    """

    sequential = True
    ahead = False

    def __init__(
        self, dataset: Any, name: str | None = None, collate: Callable[[list[Any]], Any] = default_collate
    ) -> None:
        self.name = name or type(dataset).__name__
        if not hasattr(dataset, "__len__"):
            raise DataError(
                f"{self.name}: {type(dataset).__name__} does not say how many samples an epoch has; give it __len__"
            )
        self._dataset, self._collate = dataset, collate
        self._size = len(dataset)
        self._lock = threading.Lock()
        self._items: Iterator[Any] = iter(())
        self._begin()
        first = next(self._items, None)
        if not self._size or first is None:
            raise DataError(f"{self.name}: there are no samples")
        self._items = chain([first], self._items)
        batch = collate_pairs([first], [0], collate, self.name)
        classes: Any = getattr(dataset, "classes", None)
        self.facts = facts_of(batch.inputs, batch.targets, len(classes) if hasattr(classes, "__len__") else None)

    def __len__(self) -> int:
        return self._size

    def read(self, indices: Sequence[int]) -> Batch:
        """Go on to these samples, which must rise; `DataError` where the stream has fewer or more than it said."""
        with self._lock:
            items = [self._take(index) for index in indices]
        return collate_pairs(items, indices, self._collate, self.name)

    def _begin(self) -> None:
        self._items = iter(self._dataset)
        self._next = 0

    def _take(self, index: int) -> Any:
        if not 0 <= index < self._size:
            raise IndexError(f"{self.name} has {self._size} samples; {index} was asked for")
        if index < self._next:
            self._begin()
        while self._next < index:
            self._one()
        item = self._one()
        if self._next == self._size and next(self._items, self) is not self:
            raise DataError(f"{self.name} goes on after its {self._size} samples; correct its __len__")
        return item

    def _one(self) -> Any:
        item = next(self._items, self)
        if item is self:
            raise DataError(f"{self.name} ends after {self._next} of {self._size} samples; correct its __len__")
        self._next += 1
        return item
