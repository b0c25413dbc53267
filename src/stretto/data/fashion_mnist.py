"""70,000 pictures of clothes, 28 x 28 pixels, ten classes: Fashion-MNIST."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stretto.data.batch import Batch
from stretto.data.idx import read_idx
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.source import Source

SYSTEM_FOLDER = Path("/usr/share/datasets/fashion-mnist")
MEAN, DEVIATION = 0.2860, 0.3530
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class FashionMnist:
    """One half of the set; pictures stay bytes in memory and are normalised as they are read."""

    name = "fashion_mnist"
    facts = {"shape": (1, 28, 28), "features": 784, "channels": 1, "classes": 10, "outputs": 10}

    def __init__(self, images: Bytes, labels: Bytes) -> None:
        if len(images) != len(labels):
            raise DataError(
                f"fashion_mnist: {len(images)} images, but {len(labels)} labels; the files do not belong together"
            )
        self._images, self._labels = images, labels

    def __len__(self) -> int:
        return len(self._images)

    def read(self, indices: Sequence[int]) -> Batch:
        """Return normalised pictures (n, 1, 28, 28) and their classes."""
        rows = np.array(indices, dtype=np.int64)
        pictures = self._images.take(rows, axis=0)[:, None].astype(np.float32)
        pictures *= np.float32(1 / (255 * DEVIATION))
        pictures -= np.float32(MEAN / DEVIATION)
        classes = self._labels.take(rows).astype(np.int64)
        return Batch(torch.from_numpy(pictures), torch.from_numpy(classes), torch.from_numpy(rows))


def fashion_mnist(folder: str | None = None) -> tuple[Source, Source]:
    """Open the 60,000 pictures to train on and the 10,000 to validate with, from `folder` or the system's folder."""
    home = _find(Path(folder)) if folder is not None else _find(SYSTEM_FOLDER)
    return _open(home, "train"), _open(home, "t10k")


def _find(folder: Path) -> Path:
    for part in ("train", "t10k"):
        for path in _files(folder, part):
            if not path.is_file():
                raise DataError(
                    f"data fashion_mnist: {path} does not exist; install Debian's package dataset-fashion-mnist, or "
                    "take the four .gz files from https://github.com/zalandoresearch/fashion-mnist and name "
                    "their folder (data.folder)"
                )
    return folder


def _open(folder: Path, part: str) -> FashionMnist:
    images, labels = _files(folder, part)
    return FashionMnist(read_idx(images, dimensions=3), read_idx(labels, dimensions=1))


def _files(folder: Path, part: str) -> tuple[Path, Path]:
    return folder / f"{part}-images-idx3-ubyte.gz", folder / f"{part}-labels-idx1-ubyte.gz"
