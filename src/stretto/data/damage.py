"""Samples that cannot be read: counted, named, and never passed over in silence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.batch import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One sample that is damaged: its number, where its bytes are, and what is wrong with them.

    >>> str(Damage(sample=7, file="a.tar", offset=512, reason="no JPEG"))
    'a.tar at offset 512 (sample 7): no JPEG'
    """

    sample: int
    file: str
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file} at offset {self.offset} (sample {self.sample}): {self.reason}"


class DamagedSamples(DataError):
    """Some of the samples that were asked for are damaged; `rest` has the others, or None where none is left.

    A source raises it and decides nothing: whether damaged samples end the training or are skipped is the job's word.
    """

    def __init__(self, damages: Sequence[Damage], rest: Batch | None) -> None:
        self.damages, self.rest = tuple(damages), rest
        more = f"; and {len(self.damages) - 1} more" if len(self.damages) > 1 else ""
        super().__init__(f"{self.damages[0]}{more}; mend the file, or say loading.damaged: skip")


def read_each(
    samples: Sequence[int], read_into: Callable[[int, int], Damage | None], make_batch: Callable[[list[int]], Batch]
) -> Batch:
    """Read samples one by one, each into the next row that is free, and make a batch of those that are sound.

    `read_into(sample, row)` fills the row, or returns what is damaged; `make_batch(samples)` makes the batch of as many
    rows. Raises `DamagedSamples` after all samples were tried.
    """
    sound: list[int] = []
    damages: list[Damage] = []
    for sample in samples:
        damage = read_into(sample, len(sound))
        if damage is None:
            sound.append(sample)
        else:
            damages.append(damage)
    if damages:
        raise DamagedSamples(damages, make_batch(sound) if sound else None)
    return make_batch(sound)


def whole_or_raise(batch: Batch, damages: Mapping[int, Damage]) -> Batch:
    """Return a batch of which nothing is damaged; otherwise raise what is, by place in the batch, with the others."""
    if not damages:
        return batch
    kept = torch.tensor([place for place in range(len(batch)) if place not in damages], dtype=torch.int64)
    rest = replace(batch.each(lambda tensor: tensor[kept]), indices=batch.indices[kept]) if len(kept) else None
    raise DamagedSamples(list(damages.values()), rest)
