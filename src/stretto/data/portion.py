"""A part of a source that is a source itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from stretto.data.order import Permutation
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.batch import Batch
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
        batch = self._source.read(self._order.at(places).tolist())
        return replace(batch, indices=torch.tensor(list(indices), dtype=torch.int64))


def hold_out(source: Source, share: float = 0.2, seed: int = 0) -> tuple[Source, Source]:
    """Keep a share of a source for validation, drawn at random but the same for the same seed."""
    kept = round(len(source) * share)
    if not 0 < kept < len(source):
        raise DataError(
            f"{source.name}: a share of {share} of {len(source)} samples leaves {len(source) - kept} to train on and "
            f"{kept} to validate with; both must be at least 1"
        )
    order = Permutation(len(source), seed)
    trained = len(source) - kept
    return Portion(source, order, range(trained)), Portion(source, order, range(trained, len(source)))
