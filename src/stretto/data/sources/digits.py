"""1,797 handwritten digits of 8 x 8 pixels, which come with scikit-learn: real data without a download."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stretto.data.sources.arrays import Arrays
from stretto.data.sources.row_file import Rows
from stretto.data.stratified import hold_out_of_classes
from stretto.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from stretto.data.source import Source

BRIGHTEST = 16.0


def digits(share: float = 0.2, seed: int = 0) -> tuple[Source, Source]:
    """Open the digits; of every class the same `share` is kept for validation, chosen by `seed`."""
    images, labels = _read(_file())
    parts = hold_out_of_classes(labels, share, seed, "data digits")
    training, validation = (Arrays(images[part], labels[part], "digits") for part in parts)
    return training, validation


def _file() -> Path:
    # The package is found, not imported: importing it takes a second of every worker's start.
    package = find_spec("sklearn")
    if package is None or not package.submodule_search_locations:
        raise MissingExtra("scikit-learn", "examples")
    return Path(package.submodule_search_locations[0]) / "datasets" / "data" / "digits.csv.gz"


def _read(path: Path) -> tuple[Rows, Rows]:
    try:
        with gzip.open(path, "rt", encoding="ascii") as lines:
            table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
        images = table[:, :64].reshape(-1, 1, 8, 8) / BRIGHTEST
        return images, table[:, 64].astype(np.int64)
    except (OSError, EOFError, ValueError, IndexError) as error:
        raise DataError(f"{path} cannot be read: {error}; install scikit-learn anew") from error
