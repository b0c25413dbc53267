"""Small sources for tests: one that tells its indices, and files such as the real sets are kept in."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import torch

from stretto.data.batch import Batch


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


def idx_bytes(values):
    """The IDX file, gzipped, that holds an array of bytes."""
    head = struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    return gzip.compress(head + values.astype(np.uint8).tobytes())


def write_fashion(folder, samples=6):
    """Write the four files of a tiny Fashion-MNIST and return its training images and labels."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (samples, 28, 28), dtype=np.uint8)
    labels = np.arange(samples, dtype=np.uint8) % 10
    for part in ("train", "t10k"):
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(idx_bytes(images))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(idx_bytes(labels))
    return images, labels
