"""From the bytes of a `.npy` file to an array."""

from __future__ import annotations

from io import BytesIO
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

Rows = np.ndarray[Any, np.dtype[Any]]


class ArrayDecoder:
    """Decodes arrays that are alike in shape and kind to the one in `example`; doubles become single."""

    def __init__(self, example: bytes) -> None:
        array = decode_array(example)
        self.shape = array.shape
        self._dtype = _as_torch_has_it(array.dtype)

    def room(self, samples: int) -> Rows:
        """Return memory for a batch."""
        return np.empty((samples, *self.shape), dtype=self._dtype)

    def decode(self, content: bytes, row: Rows) -> None:
        """Write the array of a file into a row; `ValueError` says what is wrong with the file."""
        array = decode_array(content)
        if array.shape != self.shape or not np.can_cast(array.dtype, self._dtype, "same_kind"):
            raise ValueError(f"{array.dtype} of shape {array.shape}, but others are {self._dtype} of {self.shape}")
        row[...] = array

    def tensor(self, rows: Rows) -> Tensor:
        """Return the batch."""
        return torch.from_numpy(rows)


def decode_array(content: bytes) -> Rows:
    """Return the array of a whole `.npy` file, as a view of its bytes; never unpickles anything."""
    stream = BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read_header(stream)
    except Exception as error:  # a head is a Python literal, of which a damaged one breaks the reading in any way
        raise ValueError(f"no .npy file: {error}") from error
    if dtype.kind not in "fiub":
        raise ValueError(f"an array of {dtype}; only numbers are read")
    here, needed = len(content) - stream.tell(), prod(shape) * dtype.itemsize
    if here != needed:
        raise ValueError(f"{here} bytes for {dtype} of shape {shape}, which needs {needed}")
    return np.frombuffer(content, dtype, offset=stream.tell()).reshape(shape, order="F" if by_columns else "C")


def _as_torch_has_it(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "u" and dtype.itemsize > 1:
        return np.dtype(np.int64)  # torch has few operations for wide unsigned numbers
    return np.dtype(np.float32) if dtype == np.float64 else dtype.newbyteorder("=")
