"""What sampling nodes hand to workers: a parcel of tensors, and how these lie in one block of memory. Sans I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import torch
from torch import Tensor

from stretto.errors import DataError, WireError

ALIGNMENT_BYTES: Final = 64
LARGEST_BYTES: Final = 4 * 2**30
DTYPES: Final[dict[str, torch.dtype]] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
    "complex128": torch.complex128,
    "complex64": torch.complex64,
    "int64": torch.int64,
    "int32": torch.int32,
    "int16": torch.int16,
    "int8": torch.int8,
    "uint64": torch.uint64,
    "uint32": torch.uint32,
    "uint16": torch.uint16,
    "uint8": torch.uint8,
    "bool": torch.bool,
}
NAMES: Final = {dtype: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parcel:
    """A few bytes that only the layers above understand, and the tensors that they speak of."""

    header: bytes = b""
    tensors: Sequence[Tensor] = ()


class Place(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Where in the block a tensor lies, and what it is; a dimension of the shape is never negative."""

    offset: int
    dtype: str
    shape: tuple[int, ...]


def lay_out(tensors: Iterable[Tensor]) -> tuple[tuple[Place, ...], int]:
    """A place for every tensor, at multiples of 64 bytes, and the length of the block that they need."""
    places, end = [], 0
    for number, tensor in enumerate(tensors):
        if tensor.layout is not torch.strided or not tensor.is_cpu or tensor.dtype not in NAMES:
            raise DataError(
                f"tensor {number} of a batch cannot travel: it is {tensor.dtype} ({tensor.layout}) on {tensor.device}; "
                f"hand out dense tensors on the processor, of {', '.join(DTYPES)}"
            )
        places.append(Place(end, NAMES[tensor.dtype], tuple(tensor.shape)))
        end += math.ceil(tensor.nbytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return tuple(places), end


def write(tensors: Iterable[Tensor], places: Iterable[Place], block: Tensor) -> None:
    """Copy the tensors into their places in a block of bytes."""
    for tensor, place in zip(tensors, places, strict=True):
        _fill(_view(place, block), tensor.detach())


def read(places: Iterable[Place], block: Tensor) -> tuple[Tensor, ...]:
    """The tensors that lie in a block, without a copy; `WireError` for a place that is none."""
    try:
        return tuple(_view(place, block) for place in places)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise WireError(f"a parcel was refused: its tensors cannot be understood: {error}") from error


def _view(place: Place, block: Tensor) -> Tensor:
    dtype = DTYPES.get(place.dtype)
    if dtype is None:
        raise WireError(f'a parcel was refused: its tensors are of "{place.dtype[:20]}", which is unknown')
    end = place.offset + math.prod(place.shape) * dtype.itemsize
    if min(place.offset, *place.shape, 0) < 0 or place.offset % ALIGNMENT_BYTES or end > len(block):
        raise WireError(f"a parcel was refused: {place} does not lie in its block of {len(block)} bytes")
    return block[place.offset : end].view(dtype).view(place.shape)


def _fill(target: Tensor, source: Tensor) -> None:
    """Copy on this thread alone where that is possible, while other threads of the interpreter go on.

    PyTorch would take all its threads and wait for the last of them, and each thread of a server would have its own.
    """
    if source.is_contiguous() and not source.is_conj() and not source.is_neg():
        np.copyto(_bytes(target), _bytes(source))
    else:
        target.copy_(source)


def _bytes(tensor: Tensor) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return tensor.reshape(-1).view(torch.uint8).numpy()
