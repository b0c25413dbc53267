"""The order in which samples are drawn in proportion to weights that a person gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stretto.data.draws import Floats
from stretto.data.ordering import Numbers, count_draws, draws_for, places_between
from stretto.data.sources.arrays import map_array
from stretto.data.sources.row_file import Rows
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.source import Source


class Weighted:
    """An epoch is `draws` independent draws, each sample with a chance in proportion to its weight in a `.npy` file.

    A weight of zero is never drawn. What is kept is the sum of the weights up to each sample.
    """

    def __init__(self, source: Source, seed: int, weights: str | Rows, draws: int | None = None) -> None:
        self._seed, self._draws = seed, count_draws("weighted", draws, source)
        given = map_array(Path(weights), "order weighted") if isinstance(weights, str) else np.asarray(weights)
        self._sums = np.cumsum(_check(given, source))
        self._last = int(np.searchsorted(self._sums, self._sums[-1]))  # the last sample that has a weight

    def __len__(self) -> int:
        return self._draws

    def take(self, epoch: int, start: int, stop: int) -> Numbers:
        """Return the samples at these places."""
        drawn = draws_for(self._seed, epoch, places_between(start, stop, self._draws)).uniform() * self._sums[-1]
        samples = np.searchsorted(self._sums, drawn, side="right")
        return np.asarray(np.minimum(samples, self._last))  # a product may be rounded up to the sum of all


def _check(weights: Rows, source: Source) -> Floats:
    if weights.shape != (len(source),) or weights.dtype.kind not in "fiub":
        raise DataError(
            f"order weighted: the weights are {weights.dtype} of shape {weights.shape}, but {source.name} has "
            f"{len(source)} samples; give one number for each"
        )
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if wrong.size:
        first = f"the weight of sample {wrong[0]} is {weights[wrong[0]]}"
        raise DataError(f"order weighted: {first}, and {wrong.size - 1} more are wrong; give numbers of 0 and above")
    if not weights.any():
        raise DataError(f"order weighted: all {len(weights)} weights are 0; give at least one sample a weight above 0")
    return np.asarray(weights / np.float64(weights.max()))
