"""A shuffle that keeps to a few blocks at a time, for samples that are best read with their neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stretto.data.draws import Integers
from stretto.data.order import Permutation, mix_seeds
from stretto.data.orders.swaps import keys_of, swap_places


class BlockShuffle:
    """Every sample once: blocks in shuffled order, and within each window of `mix` blocks the samples shuffled.

    Whoever reads places that follow one another needs `mix` blocks at once, twice as many where windows meet. What is
    kept grows with the number of blocks, not of samples.

    >>> shuffle = BlockShuffle([2, 3, 2], mix=2, seed=1)
    >>> sorted(shuffle.at(np.arange(7)).tolist())
    [0, 1, 2, 3, 4, 5, 6]
    """

    def __init__(self, blocks: Sequence[int] | Integers, mix: int, seed: int) -> None:
        sizes = np.asarray(blocks, dtype=np.int64)
        order = Permutation(len(sizes), seed).take(0, len(sizes))
        # Where each block begins, in the source and among the shuffled blocks; where each window of blocks begins.
        self._firsts = (np.cumsum(sizes) - sizes)[order]
        self._starts = np.append(0, np.cumsum(sizes[order]))
        self._windows = np.append(self._starts[:-1:mix], self._starts[-1])
        self._seed = mix_seeds(seed, mix)

    def at(self, places: Integers) -> Integers:
        """Return the samples at several places."""
        windows = np.searchsorted(self._windows, places, side="right") - 1
        begins = self._windows[windows]
        sizes = self._windows[windows + 1] - begins
        mixed = begins + swap_places(places - begins, sizes, keys_of(windows, self._seed))
        blocks = np.searchsorted(self._starts, mixed, side="right") - 1
        return np.asarray(self._firsts[blocks] + mixed - self._starts[blocks])
