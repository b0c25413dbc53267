"""How much memory a pass over a large set takes, in all processes that have a part in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from stretto.data.ledger import Position
from stretto.data.loader import Loader

EVERY = 8


def of_loader(way: AbstractContextManager[Loader]) -> float:
    """By how many megabytes memory grows from when a set is open until its epoch is over, at its highest."""
    with way as loader:
        return _growth(loader.at(Position()), loader.batches_per_epoch)


class Mapped(Dataset[Tensor]):
    """Rows of a mapped `.npy` file, one by one."""

    def __init__(self, path: Path) -> None:
        self._rows = np.load(path, mmap_mode="r")

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Tensor:
        return torch.from_numpy(self._rows[index].copy())


def of_mapped(path: Path, batch: int) -> float:
    """The same for a DataLoader over a mapped file."""
    torch.set_num_threads(1)
    batches = DataLoader(Mapped(path), batch, shuffle=True)
    return _growth(iter(batches), len(batches))


def _growth(batches: Iterator[object], count: int) -> float:
    before = highest = _resident_bytes()
    for number, _ in enumerate(islice(batches, count)):
        if number % EVERY == 0:
            highest = max(highest, _resident_bytes())
    return (highest - before) / 1e6


def _resident_bytes() -> int:
    """What this process and its children have in memory; what they share counts for each."""
    own = os.getpid()
    children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
    return sum(_resident_of(number) for number in (str(own), *children))


def _resident_of(process: str) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    return 0
