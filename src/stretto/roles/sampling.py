"""What workers and sampling nodes say to each other: requests, and batches as parcels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from torch import Tensor

from stretto.checkpoint.tree import flatten, unflatten
from stretto.communicate.parcel import Parcel
from stretto.data.batch import Batch
from stretto.errors import WireError


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag=True):
    """Anything a worker asks of a sampling node."""


class Describe(Request, frozen=True, kw_only=True):
    """Answered with what is known of the data: names, facts, sizes."""


class Make(Request, frozen=True, kw_only=True):
    """Answered with a batch for each of these parts of an epoch's order: start and stop.

    `rank` is who asks: a stream is gone through for each worker separately.
    """

    epoch: int
    parts: tuple[tuple[int, int], ...]
    rank: int = 0


class Read(Request, frozen=True, kw_only=True):
    """Answered with one batch of the validation data: these samples, as 64-bit numbers."""

    samples: bytes
    rank: int = 0


class Learn(Request, frozen=True, kw_only=True):
    """The losses of some samples, for an order that learns: 64-bit numbers each."""

    samples: bytes
    losses: bytes


AnyRequest = Describe | Make | Read | Learn
_ENCODER = msgspec.msgpack.Encoder()
_DECODER: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(AnyRequest)


def encode(request: Request) -> bytes:
    """The request as msgpack.

    >>> decode(encode(Make(epoch=0, parts=((0, 32),))))
    Make(epoch=0, parts=((0, 32),), rank=0)
    """
    return _ENCODER.encode(request)


def decode(content: bytes) -> AnyRequest:
    """The request that `encode` wrote; `WireError` for anything else."""
    try:
        request: AnyRequest = _DECODER.decode(content)
    except (msgspec.MsgspecError, ValueError) as error:
        raise WireError(f"a request was refused: {error}") from error
    return request


def numbers(content: bytes, dtype: str = "int64") -> np.ndarray[Any, Any]:
    """The numbers that were sent as bytes; `WireError` where these are none."""
    if len(content) % 8:
        raise WireError(f"a request was refused: {len(content)} bytes are no 64-bit numbers")
    return np.frombuffer(content, dtype=dtype)


def pack(values: Any) -> Parcel:
    """Nested values with tensors as a parcel."""
    tensors, rest = flatten(values)
    header = msgspec.msgpack.encode([list(tensors), rest])
    return Parcel(header=header, tensors=list(tensors.values()))


def unpack(parcel: Parcel) -> Any:
    """The values that `pack` was given; their tensors are those of the parcel."""
    names, rest = msgspec.msgpack.decode(parcel.header)
    return unflatten(dict(zip(names, parcel.tensors, strict=True)), rest)


def pack_batches(batches: Sequence[Batch]) -> Parcel:
    """Some batches as one parcel."""
    return pack([_values(batch) for batch in batches])


def unpack_batches(parcel: Parcel) -> list[Batch]:
    """The batches of a parcel, their tensors where the parcel has them."""
    return [Batch(**values) for values in unpack(parcel)]


def _values(batch: Batch) -> Mapping[str, Any]:
    values = {"inputs": _plain(batch.inputs), "targets": _plain(batch.targets), "indices": batch.indices}
    return values if batch.weights is None else values | {"weights": batch.weights}


def _plain(value: Any) -> Any:
    """Named tuples travel as plain ones; everything else as it is."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return (tuple if isinstance(value, tuple) else list)(_plain(each) for each in value)
    return value
