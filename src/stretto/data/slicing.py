"""A torch DataLoader of a person's own, cut so that every rank gets its part of each batch."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, Sampler
from torch.utils.data.distributed import DistributedSampler

from stretto.data.order import mix_seeds
from stretto.data.split import share
from stretto.errors import DataError


class SlicedLoader:
    """A DataLoader whose `batch_size` is the global batch; iterating yields one rank's contiguous part of each.

    `current` is (samples of this rank, samples of all) for the batch last yielded. A rank without a part gets one
    sample all the same, so that its loop goes on, with `current[0] == 0`: it must not count. What else the DataLoader
    has (`dataset`, `batch_size`, …) is found here too.
    """

    def __init__(self, loader: DataLoader[Any], batches: _SlicedBatches) -> None:
        self._loader, self._batches = loader, batches
        self.current = (0, 0)

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        self._batches.sizes.clear()
        for batch in self._loader:
            self.current = self._batches.sizes.popleft()
            yield batch

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying asks for such names before there is a loader to ask
            raise AttributeError(name)
        return getattr(self._loader, name)

    @property
    def epoch(self) -> int:
        """How many passes over the data have begun."""
        return self._batches.epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next pass that of `epoch`, counted from 0: after resuming, or to repeat one."""
        self._batches.epoch = epoch


def slice_loader(loader: DataLoader[Any], rank: int, size: int, seed: int) -> SlicedLoader:
    """Cut a DataLoader for one of `size` ranks; collate function, workers and pinning stay as they are.

    Samplers that draw at random get a generator of their own, seeded alike on all ranks and anew in every epoch. A
    sampler of one's own without a generator must give the same order on all ranks by itself. Raises `DataError` for
    loaders that cannot be cut.
    """
    _check(loader)
    batches = _SlicedBatches(loader.batch_sampler, rank, size, seed)
    sliced = copy.copy(loader)  # not a new one: it may be of a person's own class, with arguments of its own
    # DataLoader forbids to set these by assignment, because it has checked them against each other; they still agree.
    sliced.__dict__ |= {"batch_sampler": batches, "in_order": True, "_iterator": None}
    if loader.generator is not None:
        sliced.__dict__["generator"] = loader.generator.clone_state()
    return SlicedLoader(sliced, batches)


class _SlicedBatches(Sampler[list[int]]):
    def __init__(self, whole: Any, rank: int, size: int, seed: int) -> None:
        share(range(0), size, rank)  # refuses a rank that does not exist
        self.rank, self.size, self.seed, self.epoch = rank, size, seed, 0
        self.generator = torch.Generator()
        self.whole = _own(whole, self.generator)
        if hasattr(whole, "sampler"):
            self.whole.sampler = _own(whole.sampler, self.generator)
        self.sizes: deque[tuple[int, int]] = deque()

    def __len__(self) -> int:
        return len(self.whole)

    def __iter__(self) -> Iterator[list[int]]:
        self.generator.manual_seed(mix_seeds(self.seed, self.epoch))
        self.epoch += 1
        for batch in self.whole:
            part = share(range(len(batch)), self.size, self.rank)
            self.sizes.append((len(part), len(batch)))
            yield [batch[place] for place in part] or batch[:1]


def _own(sampler: Any, generator: torch.Generator) -> Any:
    """Copy a sampler, so that the person's own stays as it is, and make it draw from our generator if it draws."""
    owned = copy.copy(sampler)
    if hasattr(owned, "generator"):
        owned.generator = generator
    return owned


def _check(loader: DataLoader[Any]) -> None:
    if isinstance(loader.dataset, IterableDataset):
        raise DataError(
            f"{type(loader.dataset).__name__} is an IterableDataset, whose samples have no numbers to share out; "
            "give a dataset with __getitem__ and __len__, or share out the stream in the dataset and keep the loader"
        )
    if loader.batch_sampler is None:
        raise DataError("the DataLoader makes no batches (batch_size=None); give it the global batch as batch_size")
    if isinstance(getattr(loader.batch_sampler, "sampler", None), DistributedSampler):
        raise DataError("the DataLoader has a DistributedSampler, which cuts already; say shuffle=True instead")
