"""70,000 pictures of clothes, 28 x 28 pixels, ten classes: Fashion-MNIST."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stretto.data.sources.mnist import open_halves
from stretto.data.sources.normalisation import Normalisation

if TYPE_CHECKING:
    from stretto.data.source import Source

SYSTEM_FOLDER = Path("/usr/share/datasets/fashion-mnist")
NORMALISATION = Normalisation((0.2860,), (0.3530,))
REMEDY = (
    "install Debian's package dataset-fashion-mnist, or take the four .gz files from "
    "https://github.com/zalandoresearch/fashion-mnist"
)


def fashion_mnist(folder: str | None = None) -> tuple[Source, Source]:
    """Open the 60,000 pictures to train on and the 10,000 to validate with, from `folder` or the system's folder."""
    return open_halves("fashion_mnist", Path(folder or SYSTEM_FOLDER), NORMALISATION, REMEDY)
