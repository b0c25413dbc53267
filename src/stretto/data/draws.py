"""Random numbers for the samples of a batch, which depend on seed, epoch and place and on nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from stretto.data.order import mix_seeds

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
Words = np.ndarray[Any, np.dtype[np.uint64]]


class Draws:
    """One random number per sample at each call, hashed, not drawn from a generator: any part can be made anywhere.

    >>> whole, part = Draws(0, 0, np.arange(8)), Draws(0, 0, np.arange(4, 8))
    >>> bool((whole.uniform()[4:] == part.uniform()).all())
    True
    """

    def __init__(self, seed: int, epoch: int, places: Integers) -> None:
        self._seed, self._epoch, self._calls = seed, epoch, 0
        self._places = np.asarray(places, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._places)

    def uniform(self) -> Floats:
        """Return a number from 0 (included) to 1 (not included) for every sample."""
        words = self._places ^ np.uint64(mix_seeds(self._seed, self._epoch, self._calls))
        self._calls += 1
        return fractions(scramble(words))

    def below(self, limit: int) -> Integers:
        """Return a whole number from 0 to `limit` - 1 for every sample."""
        return np.asarray((self.uniform() * limit).astype(np.int64))


def scramble(words: Words) -> Words:
    """Return words of which every bit depends on all bits of those given; different ones stay different."""
    words = words * _FIRST
    words ^= words >> np.uint64(31)
    words *= _SECOND
    words ^= words >> np.uint64(29)
    words *= _FIRST
    words ^= words >> np.uint64(32)
    return words


def fractions(words: Words) -> Floats:
    """Return where words lie among all words: from 0 (included) to 1 (not included)."""
    return np.asarray((words >> np.uint64(11)).astype(np.float64) * 2.0**-53)
