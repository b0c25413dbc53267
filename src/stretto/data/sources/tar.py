"""Samples in tar files, as WebDataset lays them out: `0001.jpg` beside `0001.cls`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stretto.data.batch import Batch
from stretto.data.damage import Damage, read_each
from stretto.data.facts import facts_of
from stretto.data.sources.array_decoder import ArrayDecoder
from stretto.data.sources.files import is_remote, open_file
from stretto.data.sources.listing import list_files
from stretto.data.sources.picture_decoder import ENDINGS, PictureDecoder
from stretto.data.sources.tar_index import Numbers, TarIndex, Wanted, index_tars
from stretto.data.stratified import hold_out_of_classes
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.source import Source

Decoder = PictureDecoder | ArrayDecoder
OPEN_FILES = 128


class Tar:
    """Some of the samples of an index, read at any place of their files and decoded as they are read.

    Of remote files `blocks` are known: how many samples are in each, as they are best read together.
    """

    name = "tar"

    def __init__(self, index: TarIndex, samples: Numbers, decoder: Decoder, classes: int) -> None:
        self.facts = facts_of(decoder.tensor(decoder.room(1)), None, classes)
        self._index, self._samples, self._decoder = index, samples, decoder
        self._labels = index.labels[samples]
        self._open = lru_cache(OPEN_FILES)(open_file)
        if any(map(is_remote, index.paths)):
            counts = np.bincount(index.files_of(samples), minlength=len(index.paths))
            self.blocks: Sequence[int] = counts[counts > 0].tolist()

    def __len__(self) -> int:
        return len(self._samples)

    def labels(self) -> Numbers:
        """Return the class of every sample."""
        return self._labels

    def read(self, indices: Sequence[int]) -> Batch:
        """Return pictures (n, channels, size, size), normalised, or arrays; and their classes."""
        rows = self._decoder.room(len(indices))
        contents = self._fetch(self._samples[np.array(indices, dtype=np.int64)])
        return read_each(
            indices,
            lambda sample, row: self._decode(sample, contents, rows[row, ...]),
            lambda samples: self._batch(samples, rows[: len(samples)]),
        )

    def _fetch(self, samples: Numbers) -> dict[int, bytes]:
        """Get the bytes of samples: all that are in one file are asked for at once."""
        index, wanted = self._index, np.unique(samples)
        files = index.files_of(wanted)
        contents: dict[int, bytes] = {}
        for number in np.unique(files).tolist():
            here = [sample for sample in wanted[files == number].tolist() if sample not in index.flaws]
            ranges = list(zip(index.offsets[here].tolist(), index.sizes[here].tolist(), strict=True))
            contents |= zip(here, self._open(index.paths[number]).read_ranges(ranges), strict=True)
        return contents

    def _decode(self, sample: int, contents: dict[int, bytes], row: Any) -> Damage | None:
        number = int(self._samples[sample])
        if number in self._index.flaws:
            return self._damage(sample, *self._index.flaws[number])
        try:
            self._decoder.decode(contents[number], row)
        except ValueError as error:
            return self._damage(sample, int(self._index.offsets[number]), str(error))
        return None

    def _damage(self, sample: int, offset: int, reason: str) -> Damage:
        path = self._index.path_of(int(self._samples[sample]))
        return Damage(sample=sample, file=path, offset=offset, reason=reason)

    def _batch(self, samples: Sequence[int], rows: Any) -> Batch:
        numbers = np.array(samples, dtype=np.int64)
        classes = torch.from_numpy(self._labels[numbers])
        return Batch(self._decoder.tensor(rows), classes, torch.from_numpy(numbers))


def tar(
    shards: str | list[str],
    validation_shards: str | list[str] | None = None,
    input: str | None = None,
    target: str = "cls",
    share: float = 0.2,
    seed: int = 0,
    size: int = 224,
    channels: int = 3,
) -> tuple[Source, Source]:
    """Open tar files by path, folder, pattern or list, here or behind a protocol; their headers are read, no more.

    The input is the member that ends with `input`, or the first that is a picture or a `.npy` array. Pictures get
    `size` and `channels`. The `target` is a whole number in a member of its own, or `json.key`, one in a mapping.
    Without `validation_shards` a `share` of each class is kept for validation.
    """
    wanted = Wanted((*ENDINGS, "npy") if input is None else (input.lower().lstrip("."),), target.lstrip("."))
    index = index_tars(list_files(shards, ".tar"), wanted)
    decoder = _decoder(index, size, channels)
    if validation_shards is None:
        halves = hold_out_of_classes(index.labels, share, seed, "data tar")
        parts = [(index, samples) for samples in halves]
    else:
        other = index_tars(list_files(validation_shards, ".tar"), wanted)
        parts = [(index, np.arange(len(index))), (other, np.arange(len(other)))]
    classes = 1 + max(int(each.labels.max()) for each, _ in parts)
    training, validation = (Tar(each, samples, decoder, classes) for each, samples in parts)
    return training, validation


def _decoder(index: TarIndex, size: int, channels: int) -> Decoder:
    if not index.ending.endswith("npy"):
        return PictureDecoder(size, channels)
    for sample, (offset, length) in enumerate(zip(index.offsets.tolist(), index.sizes.tolist(), strict=True)):
        if sample not in index.flaws:
            try:
                return ArrayDecoder(open_file(index.path_of(sample)).read_at(offset, length))
            except ValueError:  # the first that is whole says what all are like
                continue
    raise DataError(f"{index.paths[0]}: none of {len(index)} arrays is a whole .npy file of numbers")
