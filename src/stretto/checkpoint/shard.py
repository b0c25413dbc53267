"""What one seat wrote of one step: small values that travel to the seat that commits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stretto.errors import CheckpointError


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorEntry:
    """One tensor of a shard, in the order of the file; the digest covers its dtype, its shape and its bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One seat's part of the checkpoint of one step, described so exactly that any changed bit of it is noticed.

    A seat writes its shard itself and sends only this description, as JSON, to the seat that commits:

    >>> shard = Shard(step=120, seat=0, file=shard_file(0), header_bytes=64, header_digest="0" * 32, tensors=())
    >>> Shard.from_json(shard.to_json()) == shard
    True
    """

    step: int
    seat: int
    file: str
    header_bytes: int
    header_digest: str
    tensors: tuple[TensorEntry, ...]

    @property
    def bytes(self) -> int:
        """The size of the whole file: every byte belongs to the header or to one tensor."""
        return self.header_bytes + sum(entry.bytes for entry in self.tensors)

    def to_json(self) -> dict[str, Any]:
        """The shard as values that JSON can hold."""
        return {
            "step": self.step,
            "seat": self.seat,
            "file": self.file,
            "header_bytes": self.header_bytes,
            "header_digest": self.header_digest,
            "tensors": [[each.name, each.dtype, list(each.shape), each.bytes, each.digest] for each in self.tensors],
        }

    @classmethod
    def from_json(cls, value: Any) -> Shard:
        """The shard that `to_json` described; raises CheckpointError for anything else."""
        try:
            return cls(
                step=_count(value["step"]),
                seat=_count(value["seat"]),
                file=_file_name(value["file"], value["seat"]),
                header_bytes=_count(value["header_bytes"]),
                header_digest=str(value["header_digest"]),
                tensors=tuple(_entry(*each) for each in value["tensors"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"this does not describe a shard of a checkpoint: {error!r}") from error


def shard_file(seat: int) -> str:
    """The name of the file that a seat writes in the folder of a step."""
    return f"seat-{seat:05d}.safetensors"


def _entry(name: str, dtype: str, shape: list[int], size: int, digest: str) -> TensorEntry:
    lengths = tuple(_count(length) for length in shape)
    return TensorEntry(name=str(name), dtype=str(dtype), shape=lengths, bytes=_count(size), digest=str(digest))


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _file_name(name: Any, seat: int) -> str:
    """Only the name that this seat may use: what a manifest says must never lead out of the folder."""
    if name != shard_file(seat):
        raise ValueError(f"{name!r} is not the file of seat {seat}")
    return shard_file(seat)
