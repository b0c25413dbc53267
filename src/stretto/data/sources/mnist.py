"""70,000 handwritten digits, 28 x 28 pixels: MNIST, and whatever else is kept in four files of its kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stretto.data.sources.idx import read_idx
from stretto.data.sources.normalisation import Normalisation
from stretto.data.sources.pictures import Pictures, refuse_labels
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.source import Source

SYSTEM_FOLDER = Path("/usr/share/datasets/mnist")
NORMALISATION = Normalisation((0.1307,), (0.3081,))
REMEDY = "take the four files from https://github.com/cvdfoundation/mnist"


def mnist(folder: str | None = None) -> tuple[Source, Source]:
    """Open the 60,000 digits to train on and the 10,000 to validate with, from `folder` or the system's folder."""
    return open_halves("mnist", Path(folder or SYSTEM_FOLDER), NORMALISATION, REMEDY)


def open_halves(name: str, folder: Path, normalisation: Normalisation, remedy: str) -> tuple[Source, Source]:
    """Open the four IDX files that MNIST made customary, gzipped or not, as (training, validation)."""
    files = [
        _find(name, folder / f"{part}-{kind}-ubyte", remedy)
        for part in ("train", "t10k")
        for kind in ("images-idx3", "labels-idx1")
    ]
    return _open(name, files[0], files[1], normalisation), _open(name, files[2], files[3], normalisation)


def _find(name: str, path: Path, remedy: str) -> Path:
    zipped = path.with_name(f"{path.name}.gz")
    found = next((each for each in (path, zipped) if each.is_file()), None)
    if found is None:
        raise DataError(f"data {name}: {zipped} does not exist; {remedy} and name their folder (data.folder)")
    return found


def _open(name: str, images: Path, labels: Path, normalisation: Normalisation) -> Pictures:
    classes = read_idx(labels, dimensions=1)
    refuse_labels(labels, classes, offset=8)
    return Pictures(name, read_idx(images, dimensions=3)[:, None], classes, normalisation)
