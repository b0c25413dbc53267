"""In which order samples are visited: a shuffle that needs no memory, whatever the size."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any

from stretto.errors import DataError

if TYPE_CHECKING:
    import numpy as np

LARGEST = 2**63
_WORD = 2**64 - 1
_ROUNDS = 8
_STEP = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB


class Permutation:
    """A shuffled `range(size)` that is computed, not stored: every seat has the same one from the same seed.

    An index is written with two digits (left, right), and rounds add to one digit a keyed hash of the other: each round
    can be undone, so the whole is a bijection. The digits' bases are about the square root of the size, so they reach
    only a little beyond it; whoever lands there goes round again, which ends inside because it began inside.

    >>> permutation = Permutation(10, seed=3)
    >>> sorted(permutation[i] for i in range(10)) == list(range(10))
    True
    """

    __slots__ = ("_keys", "_left", "_right", "seed", "size")

    def __init__(self, size: int, seed: int) -> None:
        if not 0 <= size <= LARGEST:
            raise DataError(f"{size} samples cannot be ordered; sizes go from 0 to 2**63")
        self.size, self.seed = size, seed
        self._left = isqrt(max(size - 1, 0)) + 1
        self._right = max(-(-size // self._left), 1)
        self._keys = [mix_seeds(seed, size, number) for number in range(_ROUNDS)]

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < self.size:
            raise IndexError(f"index {index} is outside a permutation of {self.size}")
        place = self._round_trip(index)
        while place >= self.size:
            place = self._round_trip(place)
        return place

    def take(self, start: int, stop: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the elements from `start` to `stop` at once; thousands cost little more than one."""
        import numpy as np

        if not 0 <= start <= stop <= self.size:
            raise IndexError(f"{start} to {stop} is outside a permutation of {self.size}")
        return self.at(np.arange(start, stop, dtype=np.uint64))

    def at(self, indices: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the elements at several indices, which must lie inside."""
        import numpy as np

        places = self._round_trips(np.asarray(indices, dtype=np.uint64))
        outside = np.flatnonzero(places >= np.uint64(self.size))
        while outside.size:
            places[outside] = self._round_trips(places[outside])
            outside = outside[places[outside] >= np.uint64(self.size)]
        return np.asarray(places, dtype=np.int64)

    def _round_trip(self, index: int) -> int:
        left, right = divmod(index, self._right)
        for first, second in zip(self._keys[::2], self._keys[1::2], strict=True):
            left = (left + _hash(right, first)) % self._left
            right = (right + _hash(left, second)) % self._right
        return left * self._right + right

    def _round_trips(self, indices: Any) -> Any:
        import numpy as np

        keys = [np.uint64(key) for key in self._keys]
        lefts, rights = np.uint64(self._left), np.uint64(self._right)
        left, right = indices // rights, _remainders(indices, rights)
        for first, second in zip(keys[::2], keys[1::2], strict=True):
            left = _remainders(left + _hashes(right, first), lefts)
            right = _remainders(right + _hashes(left, second), rights)
        return left * rights + right


def mix_seeds(*numbers: int) -> int:
    """Make one well-mixed 64-bit seed of several numbers, such as a job's seed and the epoch.

    >>> mix_seeds(0, 1) != mix_seeds(1, 0)
    True
    """
    state = 0
    for number in numbers:
        state = (state + (number & _WORD) + _STEP) & _WORD
        state = ((state ^ (state >> 30)) * _FIRST) & _WORD
        state = ((state ^ (state >> 27)) * _SECOND) & _WORD
        state ^= state >> 31
    return state


def _hash(digit: int, key: int) -> int:
    word = ((digit ^ key) * _FIRST) & _WORD
    word = ((word ^ (word >> 29)) * _SECOND) & _WORD
    return word >> 1  # room for the sum with a digit in 64 bits


def _hashes(digits: Any, key: Any) -> Any:
    import numpy as np

    words = (digits ^ key) * np.uint64(_FIRST)
    words ^= words >> np.uint64(29)
    words *= np.uint64(_SECOND)
    return words >> np.uint64(1)


def _remainders(words: Any, divisor: Any) -> Any:
    # NumPy divides by one number with multiplications and vector instructions; for `%` it has neither.
    return words - words // divisor * divisor
