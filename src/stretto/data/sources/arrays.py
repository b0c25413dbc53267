"""Samples that are rows of arrays: in memory, or in NumPy files that are mapped into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from stretto.data.batch import Batch
from stretto.data.facts import facts_of
from stretto.data.portion import hold_out
from stretto.data.sources.row_file import RowFile, Rows
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.source import Source

MAPPED_BYTES = 2**27


class Arrays:
    """A source whose samples are the rows of two arrays or tensors; dtypes stay as they are.

    NumPy picks the rows: torch would wake a second set of threads for it, beside those that train.
    """

    def __init__(self, inputs: Rows | RowFile | Tensor, targets: Rows | RowFile | Tensor, name: str = "arrays") -> None:
        self.name = name
        self.inputs, self.targets = _as_rows(inputs), _as_rows(targets)
        if len(self.inputs) != len(self.targets):
            raise DataError(f"{name}: {len(self.inputs)} inputs, but {len(self.targets)} targets; give one target each")
        if not len(self.inputs):
            raise DataError(f"{name}: there are no samples")
        first = self.read([0])
        self.facts = facts_of(first.inputs, first.targets, _count_classes(self.targets))

    def __len__(self) -> int:
        return len(self.inputs)

    def read(self, indices: Sequence[int]) -> Batch:
        """Copy rows out of the arrays."""
        rows = np.array(indices, dtype=np.int64)
        return Batch(_pick(self.inputs, rows), _pick(self.targets, rows), torch.from_numpy(rows))

    def labels(self) -> Rows:
        """Return the class of every sample; `DataError` where targets are no classes."""
        if "classes" not in self.facts:
            raise DataError(
                f"{self.name}: targets of {self.targets.dtype} are no classes; give whole numbers, one each"
            )
        return np.concatenate(list(_chunks(self.targets)))


def arrays(
    inputs: str | Rows | Tensor,
    targets: str | Rows | Tensor,
    validation_inputs: str | Rows | Tensor | None = None,
    validation_targets: str | Rows | Tensor | None = None,
    share: float = 0.2,
    seed: int = 0,
) -> tuple[Source, Source]:
    """Open `.npy` files or arrays; without validation files, a `share` drawn at random is kept for validation.

    Files are mapped, not loaded, so that seats of one host share the memory; of files of more than 128 MB rows are read
    as they are asked for, so that memory does not grow. float64, NumPy's default, becomes float32: save float32.
    """
    training = Arrays(open_rows(inputs), open_rows(targets))
    if validation_inputs is None or validation_targets is None:
        if validation_inputs is not None or validation_targets is not None:
            raise DataError("data arrays: give both validation_inputs and validation_targets, or neither")
        return hold_out(training, share, seed)
    return training, Arrays(open_rows(validation_inputs), open_rows(validation_targets))


def open_rows(rows: str | Rows | Tensor, mapped_bytes: int = MAPPED_BYTES) -> Rows | RowFile | Tensor:
    """Open a `.npy` file, mapped up to so many bytes; what is an array already stays as it is."""
    if not isinstance(rows, (str, Path)):
        return rows
    path = Path(rows)
    mapped = map_array(path)
    if mapped.nbytes > mapped_bytes and mapped.flags.c_contiguous:
        return RowFile(path, mapped)
    return mapped.astype(np.float32) if mapped.dtype == np.float64 else mapped


def map_array(path: Path, user: str = "data arrays") -> np.memmap[Any, Any]:
    """Map a `.npy` file into memory; `DataError` says why that cannot be done."""
    if not path.is_file():
        raise DataError(f"{path} does not exist; {user} needs a .npy file (numpy.save) or an array")
    try:
        mapped: np.memmap[Any, Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        size = path.stat().st_size
        raise DataError(f"{path} is no whole .npy file; it has {size} bytes, and: {error}") from error
    return mapped


def _as_rows(rows: Rows | RowFile | Tensor) -> Rows | RowFile:
    if isinstance(rows, Tensor):
        rows = rows.detach().cpu()
        rows = (rows.float() if rows.dtype == torch.bfloat16 else rows).numpy()
    rows = rows if isinstance(rows, RowFile) else np.asarray(rows)
    if rows.ndim == 0 or rows.dtype.kind not in "fiub":
        raise DataError(f"an array of {rows.dtype} with shape {rows.shape} holds no samples; give rows of numbers")
    return rows


def _pick(array: Rows | RowFile, rows: np.ndarray[Any, np.dtype[np.int64]]) -> Tensor:
    picked = np.ascontiguousarray(array.take(rows, axis=0))
    if picked.dtype.kind == "u" and picked.dtype.itemsize > 1:
        picked = picked.astype(np.int64)  # torch has few operations for wide unsigned numbers
    return torch.from_numpy(np.asarray(picked))


def _chunks(rows: Rows | RowFile) -> Iterable[Rows]:
    return rows.chunks() if isinstance(rows, RowFile) else (rows,)


def _count_classes(targets: Rows | RowFile) -> int | None:
    if targets.ndim != 1 or targets.dtype.kind not in "iu":
        return None
    return max(int(chunk.max()) for chunk in _chunks(targets)) + 1
