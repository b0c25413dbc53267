"""The order in which every place draws its sample anew, whatever was drawn before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stretto.data.ordering import Numbers, count_draws, draws_for, places_between

if TYPE_CHECKING:
    from stretto.data.source import Source


class WithReplacement:
    """An epoch is `draws` independent draws, as many as there are samples if it is not said."""

    def __init__(self, source: Source, seed: int, draws: int | None = None) -> None:
        self._size, self._seed = len(source), seed
        self._draws = count_draws("with_replacement", draws, source)

    def __len__(self) -> int:
        return self._draws

    def take(self, epoch: int, start: int, stop: int) -> Numbers:
        """Return the samples at these places."""
        return draws_for(self._seed, epoch, places_between(start, stop, self._draws)).below(self._size)
