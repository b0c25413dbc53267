"""Pictures in folders, one folder for each class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from stretto.data.batch import Batch
from stretto.data.damage import Damage, read_each
from stretto.data.sources.files import read_whole, refusal
from stretto.data.sources.names import Names
from stretto.data.sources.picture_decoder import ENDINGS, PictureDecoder
from stretto.data.sources.pictures import Labels, picture_facts
from stretto.data.stratified import hold_out_of_classes
from stretto.errors import DataError, choose

if TYPE_CHECKING:
    from stretto.data.source import Source
    from stretto.data.sources.normalisation import Bytes

_SUFFIXES = tuple(f".{ending}" for ending in ENDINGS)


class ImageFolder:
    """Files `folder/<class>/<name>`, decoded as they are read; of each, its name and class are kept."""

    name = "image_folder"

    def __init__(
        self, folder: Path, classes: Sequence[str], names: Names, labels: Labels, decoder: PictureDecoder
    ) -> None:
        self.facts = picture_facts(decoder.shape, len(classes))
        self._folders = [f"{folder / each}{os.sep}" for each in classes]
        self._names, self._labels, self._decoder = names, labels, decoder

    def __len__(self) -> int:
        return len(self._labels)

    def labels(self) -> Labels:
        """Return the class of every picture."""
        return self._labels

    def read(self, indices: Sequence[int]) -> Batch:
        """Return normalised pictures (n, channels, size, size) and their classes."""
        rows = self._decoder.room(len(indices))
        return read_each(
            indices,
            lambda sample, row: self._decode(sample, rows[row]),
            lambda samples: self._batch(samples, rows[: len(samples)]),
        )

    def _decode(self, sample: int, row: Bytes) -> Damage | None:
        path = self._folders[self._labels[sample]] + self._names[sample]
        content = read_whole(path)
        try:
            self._decoder.decode(content, row)
        except ValueError as error:
            # A name need not be text to be a name, but what is told to a person must be.
            told = path.encode(errors="backslashreplace").decode()
            return Damage(sample=sample, file=told, offset=0, reason=str(error))
        return None

    def _batch(self, samples: Sequence[int], rows: Bytes) -> Batch:
        numbers = np.array(samples, dtype=np.int64)
        classes = torch.from_numpy(self._labels[numbers])
        return Batch(self._decoder.tensor(rows), classes, torch.from_numpy(numbers))


def image_folder(
    folder: str,
    validation_folder: str | None = None,
    share: float = 0.2,
    seed: int = 0,
    size: int = 224,
    channels: int = 3,
) -> tuple[Source, Source]:
    """Open pictures whose folders are their classes, in the order of the folders' names.

    Without a `validation_folder`, which has the same classes, a `share` of each class is kept for validation.
    """
    home, decoder = Path(folder), PictureDecoder(size, channels)
    classes = _subfolders(home)
    names, labels = _scan(home, classes, classes)
    if validation_folder is not None:
        other = Path(validation_folder)
        found = _scan(other, _subfolders(other), classes)
        return (
            ImageFolder(home, classes, names, labels, decoder),
            ImageFolder(other, classes, *found, decoder),
        )
    training, validation = (
        ImageFolder(home, classes, names.take(chosen), labels[chosen], decoder)
        for chosen in hold_out_of_classes(labels, share, seed, "data image_folder")
    )
    return training, validation


def _subfolders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(each.name for each in entries if each.is_dir() and not each.name.startswith("."))
    except OSError as error:
        raise refusal(str(folder), error) from error
    if not found:
        raise DataError(f"{folder} has no folders; data image_folder needs one for each class, with its pictures")
    return found


def _scan(folder: Path, present: Sequence[str], classes: Sequence[str]) -> tuple[Names, Labels]:
    """Find the pictures of the folders that are present, and which of all classes each is of."""
    listed: list[str] = []
    counts = np.zeros(len(classes), dtype=np.int64)
    numbers = {name: number for number, name in enumerate(classes)}
    for name in present:
        if name not in numbers:
            raise DataError(f"{folder}: {choose('class', name, classes[:20])}; validation has the classes of training")
        pictures = _pictures(folder / name)
        counts[numbers[name]] = len(pictures)
        listed += pictures
    return Names(listed), np.repeat(np.arange(len(classes), dtype=np.int64), counts)


def _pictures(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(each.name for each in entries if _is_picture(each.name) and each.is_file())
    except OSError as error:
        raise refusal(str(folder), error) from error
    if not found:
        raise DataError(f"{folder} has no pictures ({', '.join(ENDINGS)}); add some, or remove the folder")
    return found


def _is_picture(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES) and not name.startswith(".")
