"""Saving while training goes on: the pause is a copy into memory, a thread does the writing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from torch import Tensor

from stretto.checkpoint.buffers import Buffers
from stretto.checkpoint.shard import Shard
from stretto.checkpoint.store import Store
from stretto.checkpoint.tree import flatten, unflatten
from stretto.errors import CheckpointError

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """How long training stood still for a save, and why."""

    waited_s: float
    copied_s: float
    copied_bytes: int


class Saver:
    """Writes the checkpoints of one seat through a store, in the background unless told otherwise.

    Everything happens in the order it was asked for, on one thread. A save that fails raises CheckpointError at the
    next call of any method, once (without a thread: at the call itself); the store has then removed what was half
    written, and training may go on.

    >>> saver = Saver(store)        # doctest: +SKIP
    >>> saver.begin(120, 0, {"model": model.state_dict()}, values={"epoch": 3})        # doctest: +SKIP
    >>> shards = saver.written()        # doctest: +SKIP

    On the seat that commits, when the shards of all seats are known:

    >>> saver.commit(120, shards)        # doctest: +SKIP
    """

    def __init__(self, store: Store, *, asynchronous: bool = True) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint") if asynchronous else None
        self._buffers = Buffers()
        self._values: dict[int, Any] = {}
        self._writing: list[Future[Shard]] = []
        self._committing: list[Future[int]] = []
        self._others: list[Future[None]] = []

    def begin(self, step: int, seat: int, state: Any, values: Any = None) -> Pause:
        """Copy a seat's state and have it written; what changes in it afterwards is not in the checkpoint.

        `values` are kept for `commit`. While the previous shard is still being written this waits for it (there is one
        set of buffers), and says for how long.
        """
        waited_s = self._wait_for_buffers()
        self._raise_failure()
        start = time.perf_counter()
        tensors, structure = flatten(state)
        if values is not None:
            self._values[step] = flatten(values)
        copies = self._buffers.copy(tensors) if self._thread else tensors
        self._writing.append(self._do(partial(self._write, step, seat, copies, structure)))
        copied_s = time.perf_counter() - start
        return Pause(waited_s=waited_s, copied_s=copied_s, copied_bytes=sum(each.nbytes for each in tensors.values()))

    def written(self) -> list[Shard]:
        """The shards that have reached the disk since the last call, to be told to the seat that commits."""
        self._raise_failure()
        return _take_finished(self._writing)

    def commit(self, step: int, shards: Sequence[Shard]) -> None:
        """Have the shards of all seats committed, with the values this seat gave to `begin`."""
        self._raise_failure()
        values = unflatten(*self._values.pop(step, flatten(None)))
        self._committing.append(self._do(partial(self._commit, step, shards, values)))

    def committed(self) -> list[int]:
        """The steps that have become checkpoints since the last call."""
        self._raise_failure()
        return _take_finished(self._committing)

    def discard(self, step: int) -> None:
        """Have what was written for a step removed: some seat could not write its part."""
        self._values.pop(step, None)
        self._others.append(self._do(partial(self._store.discard, step)))
        self._raise_failure()

    def delete(self, steps: Sequence[int]) -> None:
        """Have committed steps removed (those `to_delete` names), after what was asked for before."""
        self._others.extend(self._do(partial(self._store.delete, step)) for step in steps)
        self._raise_failure()

    def wait(self, timeout_s: float | None = None) -> None:
        """Return when everything asked for is done; raises CheckpointError when it failed or takes longer."""
        start = time.monotonic()
        pending: list[Future[Any]] = [*self._writing, *self._committing, *self._others]
        for each in pending:
            try:
                each.exception(None if timeout_s is None else max(0.0, timeout_s - (time.monotonic() - start)))
            except TimeoutError:
                raise CheckpointError(f"saving has not finished in {timeout_s:g} s; the disk may be stuck") from None
        self._raise_failure()

    def close(self) -> None:
        """Finish what was asked for and end the thread; raises CheckpointError when something of it failed."""
        if self._thread:
            self._thread.shutdown()
        self._raise_failure()

    def _do(self, work: Callable[[], Answer]) -> Future[Answer]:
        if self._thread:
            return self._thread.submit(work)
        done: Future[Answer] = Future()
        done.set_result(work())
        return done

    def _write(self, step: int, seat: int, tensors: dict[str, Tensor], structure: Any) -> Shard:
        return self._store.write_shard(step, seat, unflatten(tensors, structure))

    def _commit(self, step: int, shards: Sequence[Shard], values: Any) -> int:
        self._store.commit(step, shards, values)
        return step

    def _wait_for_buffers(self) -> float:
        start = time.perf_counter()
        for each in self._writing:
            each.exception()
        return time.perf_counter() - start

    def _raise_failure(self) -> None:
        for futures in (self._writing, self._committing, self._others):
            failed = next((each for each in futures if each.done() and each.exception()), None)
            if failed:
                futures.remove(failed)  # type: ignore[arg-type]
                failed.result()
        self._others = [each for each in self._others if not each.done() or each.exception()]


def _take_finished(futures: list[Future[Answer]]) -> list[Answer]:
    """Remove the futures that ended well and give their results, in order."""
    finished = [each for each in futures if each.done() and not each.exception()]
    futures[:] = [each for each in futures if each not in finished]
    return [each.result() for each in finished]
