"""Files of token numbers, such as tokenizers leave behind, for models that predict the next one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stretto.data.sources.arrays import MAPPED_BYTES, map_array
from stretto.data.sources.files import refusal
from stretto.data.sources.listing import list_files
from stretto.data.sources.table_files import name_of
from stretto.data.sources.windows import Stretch, Windows, hold_out_end, open_numbers
from stretto.errors import DataError, choose

if TYPE_CHECKING:
    from stretto.data.source import Source

ENDINGS = (".bin", ".npy")
DTYPES = ("uint8", "uint16", "uint32", "int32", "int64")
_ALL_OF = {1: 2**8, 2: 2**16}  # bytes of a token, and how many there can be where that is a sensible vocabulary


def tokens(
    files: str | list[str],
    length: int = 1024,
    validation_files: str | list[str] | None = None,
    share: float = 0.1,
    dtype: str = "uint16",
    vocabulary: int | None = None,
) -> tuple[Source, Source]:
    """Open `.bin` files of nothing but numbers of type `dtype`, or `.npy` files, which know theirs.

    Without validation files the end of the data, a `share` of it, is for validation. The vocabulary of 8 and 16 bits is
    all they can count, unless a smaller one is given; of more bits it must be given.
    """
    if dtype not in DTYPES:
        raise DataError(choose("dtype", dtype, DTYPES))
    named = list_files(files, ENDINGS)
    training = [_open(path, dtype) for path in named]
    if validation_files is None:
        training, validation = hold_out_end(training, share, "tokens")
    else:
        validation = [_open(path, dtype) for path in list_files(validation_files, ENDINGS)]
    known = vocabulary or _vocabulary([*training, *validation])
    name = name_of(named)
    return Windows(training, length, known, name), Windows(validation, length, known, name)


def _open(path: str, dtype: str) -> Stretch:
    if "://" in path:
        raise DataError(f"{path} cannot be mapped into memory; copy it to a disk first")
    mapped = map_array(Path(path)) if path.endswith(".npy") else _map(path, np.dtype(dtype).newbyteorder("<"))
    if mapped.ndim != 1 or mapped.dtype.kind not in "iu":
        raise DataError(f"{path} holds {mapped.dtype} with shape {mapped.shape}; tokens are whole numbers in one row")
    return open_numbers(path, mapped, MAPPED_BYTES)


def _map(path: str, dtype: np.dtype[Any]) -> np.memmap[Any, Any]:
    try:
        size = Path(path).stat().st_size
    except OSError as error:
        raise refusal(path, error) from error
    if not size or size % dtype.itemsize:
        raise DataError(f"{path} has {size} bytes, which are no tokens of {dtype.itemsize} bytes each; say dtype")
    return np.memmap(path, dtype, "r")


def _vocabulary(stretches: Sequence[Stretch]) -> int:
    size = max(each.numbers.dtype.itemsize for each in stretches)
    if size not in _ALL_OF:
        raise DataError(f"how many tokens there are is not known of numbers of {size * 8} bits; say vocabulary")
    return _ALL_OF[size]
