"""A part of every block of a source, so that what is read together stays together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stretto.data.labels import labels_of
from stretto.data.order import Permutation, mix_seeds
from stretto.data.portion_reading import read_as

if TYPE_CHECKING:
    from stretto.data.batch import Batch
    from stretto.data.ordering import Numbers
    from stretto.data.source import Source


class BlockPortion:
    """Of every block the samples that are held out, or those that are left; no list of them is kept."""

    def __init__(self, source: Source, blocks: Sequence[int], held_out: int, seed: int, *, is_held_out: bool) -> None:
        self.name, self.facts = source.name, source.facts
        self.ahead: bool = getattr(source, "ahead", True)
        self._source, self._seed = source, seed
        sizes = np.array(blocks, dtype=np.int64)
        ends = np.cumsum(sizes)
        # Rounding is carried on from block to block, so that small ones are not all left out.
        borders = np.array([held_out * end // len(source) for end in [0, *ends.tolist()]], dtype=np.int64)
        held = np.diff(borders)
        mine = held if is_held_out else sizes - held
        used = np.flatnonzero(mine)
        self._numbers, self._sizes, self._starts = used, sizes[used], (ends - sizes)[used]
        self._skipped = np.zeros_like(used) if is_held_out else held[used]
        self._ends = np.cumsum(mine[used])
        self.blocks: tuple[int, ...] = tuple(mine[used].tolist())

    def __len__(self) -> int:
        return int(self._ends[-1])

    def read(self, indices: Sequence[int]) -> Batch:
        """Read from the whole source; the batch keeps the numbers that were asked for."""
        return read_as(self._source, self._places(np.array(indices, dtype=np.int64)).tolist(), indices)

    def labels(self) -> Numbers:
        """Return the class of every sample, where the whole source knows them."""
        return labels_of(self._source).take(self._places(np.arange(len(self))))

    def _places(self, indices: Numbers) -> Numbers:
        if not 0 <= indices.min() <= indices.max() < len(self):
            raise IndexError(f"{self.name}: {indices.min()} to {indices.max()} of {len(self)} samples were asked for")
        found = np.searchsorted(self._ends, indices, side="right")
        places = np.empty_like(indices)
        for block in np.unique(found).tolist():
            here = np.flatnonzero(found == block)
            local = indices[here] - (self._ends[block] - self.blocks[block]) + self._skipped[block]
            order = Permutation(int(self._sizes[block]), mix_seeds(self._seed, int(self._numbers[block])))
            places[here] = order.at(local) + self._starts[block]
        return places
