"""The order in which all classes come equally often, however many samples each has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stretto.data.draws import Integers
from stretto.data.labels import labels_of
from stretto.data.order import mix_seeds
from stretto.data.ordering import Numbers, count_draws, places_between
from stretto.data.orders.swaps import keys_of, swap_places

if TYPE_CHECKING:
    from stretto.data.source import Source


class ClassBalanced:
    """In every window of as many places as there are classes, each class comes once, in shuffled order.

    A class gives all of its samples, shuffled, before it gives one again, over epochs too. What is kept is one number
    per sample: which samples each class has.
    """

    def __init__(self, source: Source, seed: int, draws: int | None = None) -> None:
        self._draws = count_draws("class_balanced", draws, source)
        labels = _known(labels_of(source))
        _, self._sizes = np.unique(labels, return_counts=True)
        self._classes = len(self._sizes)
        self._firsts = np.cumsum(self._sizes) - self._sizes
        self._members = np.argsort(labels, kind="stable").astype(np.int32 if len(labels) < 2**31 else np.int64)
        self._window_seed, self._member_seed = mix_seeds(seed, 0), mix_seeds(seed, 1)

    def __len__(self) -> int:
        return self._draws

    def take(self, epoch: int, start: int, stop: int) -> Numbers:
        """Return the samples at these places."""
        windows, slots = np.divmod(places_between(start, stop, self._draws), self._classes)
        windows += epoch * -(-self._draws // self._classes)
        classes = swap_places(slots, self._classes, keys_of(windows, self._window_seed))
        sizes = self._sizes[classes]
        passes, turns = np.divmod(windows, sizes)
        members = swap_places(turns, sizes, keys_of(passes * self._classes + classes, self._member_seed))
        return np.asarray(self._members[self._firsts[classes] + members], dtype=np.int64)


def _known(labels: Integers) -> Integers:
    """Count samples whose class nobody knows, which is -1, with the largest class: damaged ones are no class."""
    classes, sizes = np.unique(labels[labels >= 0], return_counts=True)
    return np.where(labels < 0, classes[sizes.argmax()], labels) if len(classes) else labels
