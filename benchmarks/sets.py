"""The sets that the data benchmark reads: real pictures as files and in tar files, and rows as large as is wanted."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import numpy as np
from PIL import Image

from stretto.data.sources.fashion_mnist import SYSTEM_FOLDER
from stretto.data.sources.idx import read_idx

PICTURES = 20_000
PER_SHARD = 1000
COLUMNS = [f"x{number}" for number in range(8)]
_PIECE_ROWS = 2**16


def fashion() -> tuple[np.ndarray, np.ndarray]:
    """The 60,000 pictures (n, 28, 28) of Fashion-MNIST to train on, and their classes."""
    images, labels = (SYSTEM_FOLDER / f"train-{name}.gz" for name in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    return read_idx(images, 3), read_idx(labels, 1)


def write_folders(folder: Path, ending: str, size: int) -> None:
    """Files `folder/<class>/<number>.<ending>`: grey PNG files, or JPEG files in colour, as cameras write them."""
    for number, (picture, label) in enumerate(_pictures()):
        home = folder / str(label)
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{number:05}.{ending}").write_bytes(_encoded(picture, ending, size))


def write_shards(folder: Path) -> None:
    """The PNG files in tar files of a thousand each, beside their classes, as WebDataset wants them."""
    folder.mkdir()
    samples = ({"png": _encoded(picture, "png", 28), "cls": str(label).encode()} for picture, label in _pictures())
    _write_tars(folder, samples, PER_SHARD)


def write_array_shards(folder: Path, size: int, floats: int) -> None:
    """So many bytes of arrays of random bytes, each in a `.npy` file, in tar files of about a hundred megabytes."""
    folder.mkdir()
    random = np.random.default_rng(0)
    samples = ({"npy": _npy(_bytes(random, floats)), "cls": b"0"} for _ in range(size // (4 * floats)))
    _write_tars(folder, samples, 10**8 // (4 * floats))


def write_rows(folder: Path, size: int, floats: int) -> None:
    """So many bytes of random bytes, as rows of floats in `inputs.npy`, with a target for each in `targets.npy`."""
    folder.mkdir()
    rows, random = size // (4 * floats), np.random.default_rng(0)
    np.save(folder / "targets.npy", random.random(rows, dtype=np.float32))
    inputs = np.lib.format.open_memmap(folder / "inputs.npy", mode="w+", dtype=np.float32, shape=(rows, floats))
    step = 2**22 // floats
    for start in range(0, rows, step):
        piece = inputs[start : start + step]
        piece[...] = _bytes(random, piece.size).reshape(piece.shape)
    inputs.flush()


def write_table(folder: Path, rows: int) -> None:
    """The same eight columns and a target as `.npy`, Parquet and CSV files."""
    import pyarrow
    from pyarrow import csv, parquet

    folder.mkdir()
    random = np.random.default_rng(0)
    values = (random.integers(0, 1000, (rows, len(COLUMNS) + 1)) / 1000).astype(np.float32)
    np.save(folder / "inputs.npy", values[:, :-1])
    np.save(folder / "targets.npy", values[:, -1])
    table = pyarrow.table({name: np.ascontiguousarray(values[:, at]) for at, name in enumerate([*COLUMNS, "y"])})
    parquet.write_table(table, folder / "rows.parquet")
    csv.write_csv(table, folder / "rows.csv")


def _pictures() -> Iterator[tuple[Image.Image, int]]:
    for pixels, label in zip(*(each[:PICTURES] for each in fashion()), strict=True):
        yield Image.fromarray(pixels), int(label)


def _encoded(picture: Image.Image, ending: str, size: int) -> bytes:
    content = io.BytesIO()
    if ending == "png":
        picture.save(content, "PNG")
    else:
        picture.convert("RGB").resize((size, size), Image.Resampling.BILINEAR).save(content, "JPEG", quality=90)
    return content.getvalue()


def _bytes(random: np.random.Generator, floats: int) -> np.ndarray:
    return np.frombuffer(random.bytes(4 * floats), dtype=np.float32)


def _npy(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def _write_tars(folder: Path, samples: Iterator[dict[str, bytes]], per_shard: int) -> None:
    for number in count():
        part = list(islice(samples, per_shard))
        if not part:
            return
        with tarfile.open(folder / f"{number:06}.tar", "w") as shard:
            for place, sample in enumerate(part):
                for ending, content in sample.items():
                    member = tarfile.TarInfo(f"{number:06}{place:06}.{ending}")
                    member.size = len(content)
                    shard.addfile(member, io.BytesIO(content))
