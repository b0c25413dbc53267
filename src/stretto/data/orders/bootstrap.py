"""The order that visits one sample of the samples, drawn with replacement: for the members of an ensemble (bagging)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.data.order import Permutation, mix_seeds
from stretto.data.ordering import Numbers, count_draws, draws_for

if TYPE_CHECKING:
    from stretto.data.source import Source


class Bootstrap:
    """The seed draws `draws` samples, some of them repeatedly; every epoch visits these, each time shuffled anew.

    Another seed gives another member of an ensemble.
    """

    def __init__(self, source: Source, seed: int, draws: int | None = None) -> None:
        self._size, self._seed = len(source), seed
        self._draws = count_draws("bootstrap", draws, source)

    def __len__(self) -> int:
        return self._draws

    def take(self, epoch: int, start: int, stop: int) -> Numbers:
        """Return the samples at these places."""
        drawn = Permutation(self._draws, mix_seeds(self._seed, epoch)).take(start, stop)
        return draws_for(self._seed, 0, drawn).below(self._size)
