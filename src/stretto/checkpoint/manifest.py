"""The manifest: what one checkpoint consists of, as bytes that protect themselves. Plain values, no torch, no files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import xxhash

from stretto.checkpoint.shard import Shard
from stretto.errors import CheckpointError

MANIFEST_FILE = "manifest.json"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Every shard of a step with the digests of all its tensors, and the values of the run at that step.

    `values` is what JSON can hold (ledger position, strategy, metrics; see `tree.flatten`).

    >>> manifest = Manifest(step=120, shards=(), values={"epoch": 3})
    >>> Manifest.decode(manifest.encode()) == manifest
    True
    """

    step: int
    shards: tuple[Shard, ...]
    values: Any

    def encode(self) -> bytes:
        """One JSON object whose first line is the digest of every byte after it, so that no bit may change."""
        body = {
            "format": "stretto checkpoint",
            "version": VERSION,
            "step": self.step,
            "values": self.values,
            "shards": [shard.to_json() for shard in self.shards],
        }
        # The brace belongs to the first line; the rest is digested as it stands, not as it would be parsed.
        rest = json.dumps(body, separators=(",", ":"), allow_nan=False)[1:].encode("ascii")
        return _first_line(rest) + rest

    @classmethod
    def decode(cls, content: bytes) -> Manifest:
        """The manifest in a file; raises CheckpointError when any bit of it has changed."""
        line, end, rest = content.partition(b"\n")
        if line + end != _first_line(rest):
            raise CheckpointError(f"{MANIFEST_FILE} does not match its own digest")
        try:
            return cls._from_json(json.loads(content))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise CheckpointError(f"{MANIFEST_FILE} cannot be understood: {error!r}") from error

    @classmethod
    def _from_json(cls, body: dict[str, Any]) -> Manifest:
        if body["version"] != VERSION:
            raise ValueError(f"it is of version {body['version']}, this Stretto reads version {VERSION}")
        return cls(step=body["step"], shards=tuple(map(Shard.from_json, body["shards"])), values=body["values"])


def _first_line(rest: bytes) -> bytes:
    return b'{"digest":"%s",\n' % xxhash.xxh3_128_hexdigest(rest).encode("ascii")
