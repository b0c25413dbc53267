"""Windows over long rows of numbers, for models that predict the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any

import numpy as np
import torch

from stretto.data.batch import Batch
from stretto.data.damage import Damage, whole_or_raise
from stretto.data.sources.row_file import RowFile, Rows
from stretto.errors import DataError


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a file of numbers, from one to another; `first_byte` is where in the file the numbers begin."""

    file: str
    numbers: Rows | RowFile
    start: int
    stop: int
    first_byte: int = 0

    def __len__(self) -> int:
        return self.stop - self.start

    def read(self, starts: Rows, size: int) -> Rows:
        """Return `size` numbers from each start on."""
        if isinstance(self.numbers, RowFile):
            return self.numbers.runs(self.start + starts, size)
        return np.asarray(self.numbers[self.start + starts[:, None] + np.arange(size)])

    def offset(self, number: int) -> int:
        """Return at which byte of the file a number stands."""
        return self.first_byte + (self.start + number) * self.numbers.dtype.itemsize


class Windows:
    """Windows of `length` numbers that follow one another; the target of every number is the one after it.

    No window goes beyond the end of a stretch. A number that is not below `vocabulary` damages its window.
    """

    def __init__(
        self, stretches: Sequence[Stretch], length: int, vocabulary: int, name: str, unit: str = "token"
    ) -> None:
        length = index(length)
        self._counts = np.array([max(len(each) - 1, 0) // length if length > 0 else 0 for each in stretches])
        self._ends = np.cumsum(self._counts)
        if length < 1 or not len(self):
            size = sum(map(len, stretches))
            raise DataError(f"{name}: {size} {unit}s hold no window of {length} {unit}s and the {unit} after it")
        self.name = name
        self.facts = {"shape": (length,), "features": length, "length": length, "vocabulary": vocabulary}
        self._stretches, self._length, self._unit = stretches, length, unit

    def __len__(self) -> int:
        return int(self._ends[-1])

    def read(self, indices: Sequence[int]) -> Batch:
        """Return numbers (n, length) and the numbers that follow each of them."""
        rows = np.array(indices, dtype=np.int64)
        if not 0 <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"{self.name} has {len(self)} windows; {rows.min()} to {rows.max()} were asked for")
        windows = np.empty((len(rows), self._length + 1), np.int64)
        homes = np.searchsorted(self._ends, rows, side="right")
        for home in np.unique(homes).tolist():
            places = np.flatnonzero(homes == home)
            windows[places] = self._stretches[home].read(self._starts(rows[places], home), self._length + 1)
        inputs, targets = windows[:, :-1].copy(), windows[:, 1:].copy()
        batch = Batch(torch.from_numpy(inputs), torch.from_numpy(targets), torch.from_numpy(rows))
        return whole_or_raise(batch, self._damages(windows, rows, homes))

    def _starts(self, rows: Rows, home: int) -> Rows:
        return np.asarray((rows - (self._ends[home] - self._counts[home])) * self._length)

    def _damages(self, windows: Rows, rows: Rows, homes: Rows) -> dict[int, Damage]:
        vocabulary = self.facts["vocabulary"]
        wrong = (windows < 0) | (windows >= vocabulary)
        damages = {}
        for place in np.flatnonzero(wrong.any(axis=1)).tolist():
            at, stretch = int(wrong[place].argmax()), self._stretches[homes[place]]
            offset = stretch.offset(int(self._starts(rows[place], homes[place])) + at)
            reason = f"{self._unit} {windows[place, at]} is none of the {vocabulary} of the vocabulary"
            damages[place] = Damage(sample=int(rows[place]), file=stretch.file, offset=offset, reason=reason)
        return damages


def hold_out_end(stretches: Sequence[Stretch], share: float, word: str) -> tuple[list[Stretch], list[Stretch]]:
    """Cut stretches in two, so that the last `share` of their numbers is on the second side."""
    if not 0 < share < 1:
        raise DataError(f"data {word}: a share of {share} leaves nothing on one side; give one between 0 and 1")
    size = sum(map(len, stretches))
    border = size - int(size * share)
    before: list[Stretch] = []
    after: list[Stretch] = []
    for each in stretches:
        cut = each.start + min(max(border, 0), len(each))
        before += [replace(each, stop=cut)] if cut > each.start else []
        after += [replace(each, start=cut)] if cut < each.stop else []
        border -= len(each)
    return before, after


def open_numbers(path: str, mapped: np.memmap[Any, Any], mapped_bytes: int) -> Stretch:
    """Make a stretch of a file, which is mapped up to so many bytes; a larger one is read as it is asked for."""
    numbers = RowFile(path, mapped) if mapped.nbytes > mapped_bytes else np.asarray(mapped)
    return Stretch(path, numbers, 0, len(mapped), mapped.offset)
