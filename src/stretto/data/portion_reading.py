"""Reading the samples of a portion from the whole, under the portion's own numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from stretto.data.damage import DamagedSamples

if TYPE_CHECKING:
    from stretto.data.batch import Batch
    from stretto.data.source import Source


def read_as(source: Source, places: Sequence[int], indices: Sequence[int]) -> Batch:
    """Read samples by the numbers they have in a source, and call them, damaged ones too, by those given."""
    try:
        return _renamed(source.read(places), indices)
    except DamagedSamples as found:
        names = dict(zip(places, indices, strict=True))
        damages = [replace(damage, sample=names[damage.sample]) for damage in found.damages]
        rest = found.rest and _renamed(found.rest, [names[place] for place in found.rest.indices.tolist()])
        raise DamagedSamples(damages, rest) from found


def _renamed(batch: Batch, indices: Sequence[int]) -> Batch:
    return replace(batch, indices=torch.tensor(list(indices), dtype=torch.int64))
