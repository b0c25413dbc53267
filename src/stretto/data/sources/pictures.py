"""Pictures of one size that stay bytes in memory, and are normalised as they are read."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stretto.data.batch import Batch
from stretto.data.sources.normalisation import Bytes, Normalisation
from stretto.errors import DataError

Labels = np.ndarray[Any, np.dtype[np.int64]]
CLASSES = 10


class Pictures:
    """Bytes (n, channels, height, width) and which of ten classes each picture is of."""

    def __init__(self, name: str, images: Bytes, labels: Bytes, normalisation: Normalisation) -> None:
        if len(images) != len(labels):
            raise DataError(f"{name}: {len(images)} images, but {len(labels)} labels; the files do not belong together")
        if not len(images):
            raise DataError(f"{name}: there are no samples")
        self.name = name
        self.facts = picture_facts(images.shape[1:], CLASSES)
        self._images, self._labels, self._normalisation = images, labels.astype(np.int64), normalisation

    def __len__(self) -> int:
        return len(self._images)

    def labels(self) -> Labels:
        """Return the class of every picture."""
        return self._labels

    def read(self, indices: Sequence[int]) -> Batch:
        """Return normalised pictures (n, channels, height, width) and their classes."""
        rows = np.array(indices, dtype=np.int64)
        pictures = self._normalisation.apply(self._images.take(rows, axis=0))
        return Batch(torch.from_numpy(pictures), torch.from_numpy(self._labels.take(rows)), torch.from_numpy(rows))


def picture_facts(shape: tuple[int, ...], classes: int) -> dict[str, Any]:
    """What a model has to know of pictures (channels, height, width)."""
    facts = {"shape": shape, "features": prod(shape), "channels": shape[0]}
    return facts | {"classes": classes, "outputs": classes}


def refuse_labels(path: Path, labels: Bytes, offset: int, step: int = 1) -> None:
    """Raise `DataError` for a label beyond the classes; labels stand in the file from `offset` on, `step` apart."""
    beyond = np.flatnonzero(labels >= CLASSES)
    if beyond.size:
        first = int(beyond[0])
        raise DataError(
            f"{path}: label {labels[first]} at offset {offset + first * step}; "
            f"labels go from 0 to {CLASSES - 1}, so get the file anew"
        )
