"""60,000 photographs of 32 x 32 pixels, ten classes: CIFAR-10, in the files its authors call the binary version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stretto.data.sources.files import read_whole
from stretto.data.sources.normalisation import Normalisation
from stretto.data.sources.pictures import Pictures, refuse_labels
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.source import Source
    from stretto.data.sources.normalisation import Bytes

SYSTEM_FOLDER = Path("/usr/share/datasets/cifar-10-batches-bin")
NORMALISATION = Normalisation((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
SHAPE = (3, 32, 32)
RECORD = 1 + 3 * 32 * 32


def cifar10(folder: str | None = None) -> tuple[Source, Source]:
    """Open the 50,000 pictures to train on and the 10,000 to validate with, from `folder` or the system's folder."""
    home = Path(folder or SYSTEM_FOLDER)
    return _open([home / f"data_batch_{number}.bin" for number in range(1, 6)]), _open([home / "test_batch.bin"])


def _open(paths: list[Path]) -> Pictures:
    parts = [_read(path) for path in paths]
    # Concatenated as pictures, not as records: of rows that do not touch, NumPy would copy all to take a few.
    images = np.concatenate([records[:, 1:].reshape(-1, *SHAPE) for records in parts])
    return Pictures("cifar10", images, np.concatenate([records[:, 0] for records in parts]), NORMALISATION)


def _read(path: Path) -> Bytes:
    if not path.is_file():
        raise DataError(
            f"data cifar10: {path} does not exist; take the binary version from "
            "https://www.cs.toronto.edu/~kriz/cifar.html and name its folder (data.folder)"
        )
    content = np.frombuffer(read_whole(str(path)), dtype=np.uint8)
    whole, rest = divmod(len(content), RECORD)
    if rest or not whole:
        raise DataError(
            f"{path}: ends at offset {len(content)}, {rest} bytes into record {whole}; "
            f"records have {RECORD} bytes, so get the file anew"
        )
    records = content.reshape(whole, RECORD)
    refuse_labels(path, records[:, 0], offset=0, step=RECORD)
    return records
