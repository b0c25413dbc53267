"""Small sources for tests: one that tells its indices, and files such as the real sets are kept in."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import tarfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from stretto.data.assembly import Assembler
from stretto.data.batch import Batch
from stretto.data.loader import Loader
from stretto.data.orders.in_order import InOrder
from stretto.data.orders.shuffled import Shuffled


class Numbers:
    """A source whose sample i is the number i, twice; it counts its reads and can be told to fail."""

    def __init__(self, size, fails_at=None):
        self.name, self.facts = "numbers", {"features": 2}
        self.size, self.fails_at, self.reads = size, fails_at, 0

    def __len__(self):
        return self.size

    def read(self, indices):
        self.reads += 1
        if max(indices) >= self.size:
            raise IndexError(f"sample {max(indices)} of {self.size}")
        if self.fails_at in indices:
            raise OSError(f"sample {self.fails_at} is lost")
        numbers = torch.tensor(list(indices), dtype=torch.int64)
        return Batch(torch.stack([numbers, numbers], 1), numbers, numbers)


def loader(source, batch, rank, size, seed=0, *, shuffle=True, ahead=2, micro_batches=1):
    """A loader over a source, with all that stands between them."""
    ordering = Shuffled(source, seed) if shuffle else InOrder(source)
    return Loader(Assembler(source, ordering, seed=seed, ahead=ahead), batch, rank, size, micro_batches=micro_batches)


def idx_bytes(values):
    """The IDX file, gzipped, that holds an array of bytes."""
    head = struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    return gzip.compress(head + values.astype(np.uint8).tobytes())


def write_cifar(folder, samples=12):
    """Write the six files of a tiny CIFAR-10 and return the records of its test batch, a label before each picture."""
    random = np.random.default_rng(0)
    names = [f"data_batch_{number}.bin" for number in range(1, 6)] + ["test_batch.bin"]
    for name in names:
        records = random.integers(0, 256, (samples, 3073), dtype=np.uint8)
        records[:, 0] %= 10
        (folder / name).write_bytes(records.tobytes())
    return records


def write_fashion(folder, samples=6):
    """Write the four files of a tiny Fashion-MNIST and return its training images and labels."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (samples, 28, 28), dtype=np.uint8)
    labels = np.arange(samples, dtype=np.uint8) % 10
    for part in ("train", "t10k"):
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(idx_bytes(images))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(idx_bytes(labels))
    return images, labels


def encoded(pixels, kind="PNG", **options):
    """The file of a picture."""
    content = io.BytesIO()
    Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(content, kind, **options)
    return content.getvalue()


def write_picture_folders(folder, counts, side=8):
    """Write grey PNGs into a folder for each class; every pixel of a picture is its number among all."""
    number = 0
    for name, count in counts.items():
        (folder / name).mkdir(parents=True)
        for index in range(count):
            (folder / name / f"{index:03d}.png").write_bytes(encoded(np.full((side, side), number)))
            number += 1
    return folder


def tar_bytes(members, format=tarfile.PAX_FORMAT):
    """The tar file that holds these (name, content) pairs."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=format) as file:
        for name, each in members:
            head = tarfile.TarInfo(name)
            head.size = len(each)
            file.addfile(head, io.BytesIO(each))
    return content.getvalue()


def picture_shard(numbers, side=8):
    """A tar file of grey PNGs, every pixel of which is the picture's number, whose class is its last digit."""
    members = []
    for number in numbers:
        members.append((f"{number:04d}.png", encoded(np.full((side, side), number))))
        members.append((f"{number:04d}.cls", str(number % 10).encode()))
    return tar_bytes(members)


def write_table(path, table, rows_per_part=4):
    """Write a pyarrow table as what its name says, in parts of a few rows where the format has parts."""
    import pyarrow
    from pyarrow import csv, feather, parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=rows_per_part)
    elif path.suffix in (".csv", ".tsv"):
        options = csv.WriteOptions(delimiter="," if path.suffix == ".csv" else "\t", quoting_style="none")
        csv.write_csv(table, path, options)
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path), chunksize=rows_per_part)  # packed with lz4
    else:
        new = pyarrow.ipc.new_stream if path.suffix == ".arrows" else pyarrow.ipc.new_file
        with pyarrow.OSFile(str(path), "wb") as file, new(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows_per_part)
    return str(path)


def flowers(rows=12, **columns):
    """A table of `rows` flowers: two numbers, a word and a class each, and whatever other columns are given."""
    import pyarrow

    numbers = np.arange(rows)
    names = [("rose", "tulip", "lily")[number % 3] for number in numbers]
    known = {"width": numbers.astype(np.float32), "height": numbers + 100, "name": names, "kind": numbers % 3}
    return pyarrow.table(known | columns)


def resident_bytes():
    """How much memory this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def save_dataset(folder, table, features=None, shards=1, **state):
    """Write what `Dataset.save_to_disk` of the package datasets writes: streams, their names, and what columns mean."""
    size = -(-len(table) // shards)
    names = [f"data-{shard:05d}-of-{shards:05d}.arrow" for shard in range(shards)]
    for shard, name in enumerate(names):
        write_table(folder / f"{name}s", table.slice(shard * size, size))
        (folder / f"{name}s").rename(folder / name)
    known = {
        "_data_files": [{"filename": name} for name in names],
        "_fingerprint": "0123456789abcdef",
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    (folder / "state.json").write_text(json.dumps(known | state, indent=2))
    (folder / "dataset_info.json").write_text(json.dumps({"citation": "", "features": features or {}}))
    return str(folder)


def save_dataset_dict(folder, **splits):
    """Write what `DatasetDict.save_to_disk` writes."""
    for split, table in splits.items():
        save_dataset(folder / split, table)
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": list(splits)}))
    return str(folder)
