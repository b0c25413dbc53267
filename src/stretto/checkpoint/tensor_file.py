"""The bytes of one shard: a safetensors file whose every byte is covered by a digest.

The file is written here rather than by the safetensors package, because it has to go through the thin file layer (so
that tests can stop it at any byte) and straight from the tensors' memory (so that no second copy of them is made); any
safetensors reader opens it. The seat's values that are not tensors lie in the header's `__metadata__`, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import xxhash
from torch import Tensor

from stretto.checkpoint.buffers import ALIGNMENT_BYTES, Buffers
from stretto.checkpoint.shard import Shard, TensorEntry, shard_file
from stretto.checkpoint.tree import flatten, unflatten
from stretto.errors import CheckpointError

DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "C64": torch.complex64,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U64": torch.uint64,
    "U32": torch.uint32,
    "U16": torch.uint16,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFile:
    """The pieces of a file in the order they are written, and the shard that describes them."""

    shard: Shard
    pieces: tuple[bytes | memoryview, ...]


def encode(step: int, seat: int, state: Any) -> TensorFile:
    """The file of one seat's state; it reads the tensors' own memory, so they must not change until it is written."""
    tensors, values = flatten(state)
    contents = {name: _contents(tensors[name]) for name in _aligned_order(tensors)}
    entries = tuple(_entry(name, tensors[name], content) for name, content in contents.items())
    header = _header(entries, values)
    shard = Shard(
        step=step,
        seat=seat,
        file=shard_file(seat),
        header_bytes=len(header),
        header_digest=xxhash.xxh3_128_hexdigest(header),
        tensors=entries,
    )
    return TensorFile(shard=shard, pieces=(header, *contents.values()))


def decode(shard: Shard, content: memoryview) -> Any:
    """The state in a shard's file; large tensors stay in `content` (writable memory, read from the file once).

    Raises CheckpointError that names every damaged tensor, the header, or the wrong length.
    """
    problems = list(_damages(shard, content))
    if problems:
        raise CheckpointError("; ".join(problems))
    try:
        header = json.loads(bytes(content[LENGTH_BYTES : shard.header_bytes]))
        tensors = {entry.name: _tensor(entry, content, offset) for entry, offset in _places(shard)}
        return unflatten(_aligned(tensors), json.loads(header["__metadata__"]["values"]))
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{shard.file} cannot be understood: {error!r}") from error


def _damages(shard: Shard, content: memoryview) -> Iterator[str]:
    if len(content) != shard.bytes:
        yield f"{shard.file} has {len(content):,} bytes instead of {shard.bytes:,}"
        return
    if xxhash.xxh3_128_hexdigest(content[: shard.header_bytes]) != shard.header_digest:
        yield f"header of {shard.file} does not match its digest"
    for entry, offset in _places(shard):
        if _digest(entry.dtype, entry.shape, content[offset : offset + entry.bytes]) != entry.digest:
            yield f"tensor {entry.name} in {shard.file} does not match its digest"


def _places(shard: Shard) -> Iterator[tuple[TensorEntry, int]]:
    offset = shard.header_bytes
    for entry in shard.tensors:
        yield entry, offset
        offset += entry.bytes


def _aligned_order(tensors: Mapping[str, Tensor]) -> list[str]:
    """The order in which most tensors lie at multiples of 64 bytes and all at multiples of their element's size.

    safetensors allows no gaps, so those whose size is no such multiple come last, large elements first.
    """
    return sorted(tensors, key=lambda name: (tensors[name].nbytes % ALIGNMENT_BYTES > 0, -tensors[name].element_size()))


def _aligned(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors where PyTorch's own allocator would put them, at multiples of 64 bytes; few have to be copied.

    How a matrix is aligned may change the last bit of a product, and a resumed run must not differ in one bit.
    """
    astray = {name: each for name, each in tensors.items() if each.data_ptr() % ALIGNMENT_BYTES}
    return {**tensors, **Buffers().copy(astray)}


def _contents(tensor: Tensor) -> memoryview:
    dense = tensor.cpu().contiguous().resolve_conj().resolve_neg()
    return dense.reshape(-1).view(torch.uint8).numpy().data


def _entry(name: str, tensor: Tensor, content: memoryview) -> TensorEntry:
    dtype = NAMES.get(tensor.dtype)
    if dtype is None:
        raise CheckpointError(f"tensor {name} is of {tensor.dtype}, which safetensors cannot hold; store it as another")
    shape = tuple(tensor.shape)
    digest = _digest(dtype, shape, content)
    return TensorEntry(name=name, dtype=dtype, shape=shape, bytes=len(content), digest=digest)


def _digest(dtype: str, shape: tuple[int, ...], content: memoryview) -> str:
    digest = xxhash.xxh3_128(f"{dtype} {shape} ".encode())
    digest.update(content)
    return digest.hexdigest()


def _header(entries: tuple[TensorEntry, ...], values: Any) -> bytes:
    header: dict[str, Any] = {"__metadata__": {"values": json.dumps(values, separators=(",", ":"), allow_nan=False)}}
    start = 0
    for entry in entries:
        end = start + entry.bytes
        header[entry.name] = {"dtype": entry.dtype, "shape": entry.shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-(LENGTH_BYTES + len(text)) % ALIGNMENT_BYTES)
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


def _tensor(entry: TensorEntry, content: memoryview, offset: int) -> Tensor:
    dtype = DTYPES[entry.dtype]
    if not entry.bytes:
        return torch.empty(entry.shape, dtype=dtype)
    count = entry.bytes // dtype.itemsize
    return torch.frombuffer(content, dtype=dtype, count=count, offset=offset).reshape(entry.shape)
