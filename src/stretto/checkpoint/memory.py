"""Checkpoints in memory, for tests and for runs that need no disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stretto.checkpoint import tensor_file
from stretto.checkpoint.shard import Shard
from stretto.checkpoint.store import Loaded
from stretto.checkpoint.tree import flatten, unflatten
from stretto.errors import CheckpointError


class MemoryStore:
    """A store that keeps the bytes of every shard, so that what it gives back is a copy, as from a disk.

    >>> store = MemoryStore()
    >>> store.commit(1, [store.write_shard(1, 0, {"epoch": 3})], None)
    >>> store.load().states
    {0: {'epoch': 3}}
    """

    def __init__(self) -> None:
        self._written: dict[int, dict[str, bytes]] = {}
        self._committed: dict[int, tuple[tuple[Shard, ...], dict[str, bytes], Any]] = {}

    def clean(self) -> None:
        """Forget what was written without being committed."""
        self._written.clear()

    def write_shard(self, step: int, seat: int, state: Any) -> Shard:
        """Keep a copy of one seat's state."""
        file = tensor_file.encode(step, seat, state)
        self._written.setdefault(step, {})[file.shard.file] = b"".join(file.pieces)
        return file.shard

    def commit(self, step: int, shards: Sequence[Shard], values: Any) -> None:
        """Make the shards of a step one checkpoint; raises CheckpointError when one of them was never written here."""
        written = self._written.pop(step, {})
        missing = [shard.file for shard in shards if shard.file not in written]
        if missing or not shards:
            raise CheckpointError(f"step {step} cannot be committed: missing {', '.join(missing) or 'every shard'}")
        tensors, plain = flatten(values)
        if tensors:
            raise CheckpointError(f"the values of a checkpoint hold tensors ({', '.join(tensors)})")
        self._committed[step] = (tuple(shards), written, plain)

    def discard(self, step: int) -> None:
        """Forget what was written for a step; a committed one of that step stays."""
        self._written.pop(step, None)

    def steps(self) -> list[int]:
        """The committed steps, oldest first."""
        return sorted(self._committed)

    def load(self, step: int | None = None) -> Loaded:
        """A fresh copy of a step, or of the newest."""
        wanted = max(self._committed, default=None) if step is None else step
        if wanted not in self._committed:
            wanted_text = "checkpoint" if step is None else f"checkpoint of step {step}"
            there = ", ".join(map(str, self.steps())) or "none"
            raise CheckpointError(f"no usable {wanted_text} in memory: steps there: {there}")
        shards, files, values = self._committed[wanted]
        states = {shard.seat: tensor_file.decode(shard, memoryview(bytearray(files[shard.file]))) for shard in shards}
        return Loaded(step=wanted, states=states, values=unflatten({}, values))

    def delete(self, step: int) -> None:
        """Forget a committed step."""
        self._committed.pop(step, None)
