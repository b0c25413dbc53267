"""Checkpoints in a folder: `step-00000120/` holds one safetensors file of every seat and the manifest.

A step is written in `step-00000120.tmp` and gets its name by one rename, after everything in it has been fsynced; the
parent is fsynced after that. What is replaced steps aside as `.old` until the new one is in place, what is deleted is
first renamed to `.gone`. So at every instant a name without ending means a whole checkpoint.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from stretto.checkpoint import tensor_file
from stretto.checkpoint.files import DiskFiles, Files
from stretto.checkpoint.manifest import MANIFEST_FILE, Manifest
from stretto.checkpoint.shard import Shard
from stretto.checkpoint.store import Loaded
from stretto.checkpoint.tree import flatten, unflatten
from stretto.errors import CheckpointError

STEP_FOLDER = re.compile(r"step-(\d{8,})(\.old)?")


class FolderStore:
    """A store on disk. Several processes may write shards into one folder at once; one of them commits.

    >>> store = FolderStore("runs/digits/checkpoints")        # doctest: +SKIP
    >>> shard = store.write_shard(120, 0, {"model": model.state_dict()})        # doctest: +SKIP
    >>> store.commit(120, [shard], {"epoch": 3})        # doctest: +SKIP
    >>> store.load().states[0]["model"]        # doctest: +SKIP
    """

    def __init__(self, root: Path | str, files: Files | None = None) -> None:
        self.root = Path(root)
        self._files = files or DiskFiles()

    def clean(self) -> None:
        """Remove what a killed run left half done; called by one seat before any seat writes."""
        for name in self._files.names(self.root):
            if name.startswith("step-") and name.endswith((".tmp", ".gone")):
                self._remove_folder(self.root / name)
        for step, name in self._committed():
            if name.endswith(".old"):
                self._explain(f"putting back step {step}", partial(self._put_back, step, self.root / name))

    def write_shard(self, step: int, seat: int, state: Any) -> Shard:
        """Write one seat's state where `commit` will find it, surely on disk when this returns."""
        file = tensor_file.encode(step, seat, state)
        folder = self._folder(step, ".tmp")
        what = f"writing {file.shard.file} of step {step}"
        try:
            self._explain(what, partial(self._write, folder, file.shard.file, file.pieces), file.shard.bytes)
        except CheckpointError:
            with contextlib.suppress(OSError):
                self._forget(folder, file.shard.file)
            raise
        return file.shard

    def commit(self, step: int, shards: Sequence[Shard], values: Any) -> None:
        """Make the shards of a step, all of them, one checkpoint; one of the same step that existed gives way to it."""
        manifest = Manifest(step=step, shards=tuple(shards), values=_values_only(values)).encode()
        folder = self._folder(step, ".tmp")
        try:
            self._check_written(step, shards)
            self._explain(f"sealing step {step}", partial(self._seal, folder, shards, manifest), len(manifest))
            self._explain(f"committing step {step}", partial(self._put_in_place, step))
        except CheckpointError:
            self.discard(step)
            raise

    def discard(self, step: int) -> None:
        """Remove what was written for a step that will not be committed; a committed one of that step stays."""
        self._remove_folder(self._folder(step, ".tmp"))

    def steps(self) -> list[int]:
        """The committed steps, oldest first; whether they can still be read is known after `load`."""
        return sorted({step for step, _ in self._committed()})

    def load(self, step: int | None = None) -> Loaded:
        """The checkpoint of a step, or the newest good one: damaged ones are passed over and named in `damages`."""
        damages: list[str] = []
        for candidate, name in self._committed():
            if step not in (None, candidate):
                continue
            if damages:
                damages[-1] += f"; going back to step {candidate}"
            try:
                return replace(self._read(candidate, self.root / name), damages=tuple(damages))
            except CheckpointError as error:
                damages.append(f"step {candidate} is damaged: {error}")
        wanted = "checkpoint" if step is None else f"checkpoint of step {step}"
        there = ", ".join(map(str, self.steps())) or "none"
        raise CheckpointError(f"no usable {wanted} in {self.root}: {'; '.join(damages) or f'steps there: {there}'}")

    def delete(self, step: int) -> None:
        """Remove a committed step; a kill on the way leaves either the whole of it or nothing that looks like it."""
        for each, name in self._committed():
            if each == step:
                self._explain(f"deleting step {step}", partial(self._delete_folder, name))

    def _committed(self) -> list[tuple[int, str]]:
        """Every whole checkpoint and its folder, newest first; one set aside comes after the one that replaced it."""
        matches = [match for name in self._files.names(self.root) if (match := STEP_FOLDER.fullmatch(name))]
        return sorted(((int(match[1]), match[0]) for match in matches), key=lambda each: (-each[0], each[1]))

    def _put_back(self, step: int, aside: Path) -> None:
        final = self._folder(step)
        if final.name in self._files.names(self.root):
            self._delete_folder(aside.name)
        else:
            self._files.rename(aside, final)
            self._files.sync_folder(self.root)

    def _folder(self, step: int, ending: str = "") -> Path:
        return self.root / f"step-{step:08d}{ending}"

    def _write(self, folder: Path, name: str, pieces: Sequence[bytes | memoryview]) -> None:
        self._files.make_folder(folder)
        # A stale file of a killed run gives way; its folder may hold the new shards of other seats, so it stays.
        self._forget(folder, name)
        handle = self._files.create(folder / name)
        try:
            for piece in pieces:
                self._files.write(handle, piece)
            self._files.sync(handle)
        finally:
            self._files.close(handle)

    def _check_written(self, step: int, shards: Sequence[Shard]) -> None:
        """Refuse a set that cannot be read back: not of this step, twice one seat, or not in this folder."""
        seats = [shard.seat for shard in shards]
        if not shards or len(set(seats)) < len(seats) or {shard.step for shard in shards} != {step}:
            raise CheckpointError(f"step {step} needs one shard of every seat, got those of seats {seats}")
        folder = self._folder(step, ".tmp")
        there = self._files.names(folder)
        for shard in shards:
            size = self._files.size(folder / shard.file) if shard.file in there else 0
            if size != shard.bytes:
                fact = f"seat {shard.seat} wrote {shard.bytes:,} bytes of {shard.file}, here are {size:,}"
                raise CheckpointError(f"{fact}; {self.root} must be one folder that all seats share")

    def _seal(self, folder: Path, shards: Sequence[Shard], manifest: bytes) -> None:
        for stranger in set(self._files.names(folder)) - {shard.file for shard in shards}:
            self._files.remove(folder / stranger)
        self._write(folder, MANIFEST_FILE, [manifest])
        self._files.sync_folder(folder)

    def _put_in_place(self, step: int) -> None:
        final, aside = self._folder(step), self._folder(step, ".old")
        if final.name in self._files.names(self.root):
            self._delete_folder(aside.name)
            self._files.rename(final, aside)
            self._files.sync_folder(self.root)
        self._files.rename(self._folder(step, ".tmp"), final)
        self._files.sync_folder(self.root)
        with contextlib.suppress(OSError):  # the new one is in place; `clean` removes the old one another time
            self._delete_folder(aside.name)

    def _read(self, step: int, folder: Path) -> Loaded:
        manifest = Manifest.decode(bytes(self._content(folder, MANIFEST_FILE)))
        if manifest.step != step:
            raise CheckpointError(f"{MANIFEST_FILE} is that of step {manifest.step}")
        states: dict[int, Any] = {}
        problems: list[str] = []
        for shard in manifest.shards:
            try:
                states[shard.seat] = tensor_file.decode(shard, self._content(folder, shard.file))
            except CheckpointError as error:
                problems.append(str(error))
        if problems:
            raise CheckpointError("; ".join(problems))
        return Loaded(step=step, states=states, values=unflatten({}, manifest.values))

    def _content(self, folder: Path, name: str) -> memoryview:
        try:
            return self._files.read(folder / name)
        except FileNotFoundError as error:
            raise CheckpointError(f"{name} is missing") from error
        except OSError as error:
            raise CheckpointError(f"{name} cannot be read: {error.strerror or error}") from error

    def _delete_folder(self, name: str) -> None:
        """Take the name away for good before anything in the folder is touched."""
        if name not in self._files.names(self.root):
            return
        gone = self.root / f"{name}.gone"
        self._remove_folder(gone)
        self._files.rename(self.root / name, gone)
        self._files.sync_folder(self.root)
        self._remove_folder(gone)

    def _remove_folder(self, folder: Path) -> None:
        """Remove a folder that no longer counts; what cannot be removed now is left to the next `clean`."""
        with contextlib.suppress(OSError):
            for name in self._files.names(folder):
                self._files.remove(folder / name)
            if folder.name in self._files.names(folder.parent):
                self._files.remove_folder(folder)

    def _forget(self, folder: Path, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._files.remove(folder / name)

    def _explain(self, what: str, work: Callable[[], None], needed_bytes: int = 0) -> None:
        """Do what touches the disk; when the disk refuses, say so with the numbers and the remedy."""
        try:
            work()
        except OSError as error:
            numbers = f"{needed_bytes:,} bytes needed, {self._free()} free in {self.root}"
            remedy = "free some space or set checkpoint.keep lower; the last good checkpoint is untouched"
            raise CheckpointError(f"{what} failed: {error.strerror or error} ({numbers}); {remedy}") from error

    def _free(self) -> str:
        try:
            return f"{self._files.free_bytes(self.root):,}"
        except OSError:
            return "an unknown number"


def _values_only(values: Any) -> Any:
    tensors, plain = flatten(values)
    if tensors:
        raise CheckpointError(f"the values of a checkpoint hold tensors ({', '.join(tensors)}); put them into a shard")
    return plain
