"""The order in which every sample comes once per epoch, shuffled anew each time."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from stretto.data.order import Permutation, mix_seeds
from stretto.data.ordering import Numbers, places_between
from stretto.data.orders.block_shuffle import BlockShuffle
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.source import Source


class Shuffled:
    """Every sample once per epoch, in an order that seed and epoch decide.

    Of a source that is best read in blocks, the samples of `mix` blocks at a time are mixed with one another.
    """

    def __init__(self, source: Source, seed: int, mix: int = 16) -> None:
        if mix < 1:
            raise DataError(f"order shuffled: {mix} blocks cannot be mixed (loading.order.mix); give 1 or more")
        self._size, self._seed = len(source), seed
        blocks = _blocks_of(source)
        # Two are kept, for whoever reads ahead into the next epoch.
        self._shuffles = None if blocks is None else lru_cache(2)(partial(_shuffle, blocks, mix, seed))

    def __len__(self) -> int:
        return self._size

    def take(self, epoch: int, start: int, stop: int) -> Numbers:
        """Return the samples at these places."""
        if self._shuffles is not None:
            return self._shuffles(epoch).at(places_between(start, stop, self._size))
        return Permutation(self._size, mix_seeds(self._seed, epoch)).take(start, stop)


def _shuffle(blocks: Numbers, mix: int, seed: int, epoch: int) -> BlockShuffle:
    return BlockShuffle(blocks, mix, mix_seeds(seed, epoch))


def _blocks_of(source: Source) -> Numbers | None:
    blocks = getattr(source, "blocks", None)
    if blocks is None:
        return None
    sizes = np.asarray(blocks, dtype=np.int64)
    if sizes.sum() != len(source) or (sizes < 0).any():
        raise DataError(f"{source.name}: its {len(sizes)} blocks hold {sizes.sum()} samples, but it has {len(source)}")
    return sizes
