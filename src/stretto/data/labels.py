"""The class of every sample, which orders and splits by class ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stretto.data.draws import Integers
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.source import Source


def labels_of(source: Source) -> Integers:
    """Return the class of every sample, or say that the source does not know it."""
    asked = getattr(source, "labels", None)
    if asked is None:
        raise DataError(
            f"{source.name} does not know the classes of its samples without reading them; use data with classes, such "
            "as arrays or image_folder, or give your own source a method labels()"
        )
    labels = np.asarray(asked())
    if labels.shape != (len(source),) or labels.dtype.kind not in "iu":
        raise DataError(
            f"{source.name}: labels() gave {labels.dtype} of shape {labels.shape}; give {len(source)} whole numbers"
        )
    return labels
