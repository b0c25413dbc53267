"""A part of a source that is a source itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stretto.data.block_portion import BlockPortion
from stretto.data.labels import labels_of
from stretto.data.order import Permutation
from stretto.data.portion_reading import read_as
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.batch import Batch
    from stretto.data.ordering import Numbers
    from stretto.data.source import Source


class Portion:
    """The samples that stand at `part` of a shuffled order; no list of them is kept."""

    def __init__(self, source: Source, order: Permutation, part: range) -> None:
        self.name, self.facts = source.name, source.facts
        self.ahead: bool = getattr(source, "ahead", True)
        self._source, self._order, self._part = source, order, part

    def __len__(self) -> int:
        return len(self._part)

    def read(self, indices: Sequence[int]) -> Batch:
        """Read from the whole source; the batch keeps the numbers that were asked for."""
        places = [self._part[index] for index in indices]
        return read_as(self._source, self._order.at(places).tolist(), indices)

    def labels(self) -> Numbers:
        """Return the class of every sample, where the whole source knows them."""
        return labels_of(self._source).take(self._order.take(self._part.start, self._part.stop))


def hold_out(source: Source, share: float = 0.2, seed: int = 0) -> tuple[Source, Source]:
    """Keep a share of a source for validation, drawn at random but the same for the same seed.

    Where a source has blocks, the share is drawn of every block.
    """
    if getattr(source, "sequential", False):
        raise DataError(
            f"{source.name} is a stream, of which nothing can be held out; give a pair: (training, validation)"
        )
    kept = round(len(source) * share)
    if not 0 < kept < len(source):
        raise DataError(
            f"{source.name}: a share of {share} of {len(source)} samples leaves {len(source) - kept} to train on and "
            f"{kept} to validate with; both must be at least 1"
        )
    blocks = getattr(source, "blocks", None)
    if blocks is not None:
        training, validation = (BlockPortion(source, blocks, kept, seed, is_held_out=each) for each in (False, True))
        return training, validation
    order = Permutation(len(source), seed)
    trained = len(source) - kept
    return Portion(source, order, range(trained)), Portion(source, order, range(trained, len(source)))
