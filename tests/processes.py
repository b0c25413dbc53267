"""Several seats as real processes that meet over a file, for tests of what processes do to each other."""

from __future__ import annotations

import os
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist


def forked(size: int, act: Callable[[int], Any]) -> list[Any]:
    """Run `act(rank)` in forked processes that share torch's default group; return what each returned (tensors)."""
    from safetensors.torch import load_file, save_file

    with tempfile.TemporaryDirectory() as folder:
        children = [_fork(rank, size, act, Path(folder), save_file) for rank in range(size)]
        codes = [os.waitpid(child, 0)[1] for child in children]
        assert codes == [0] * size, f"exit codes {codes}"
        return [load_file(f"{folder}/{rank}") for rank in range(size)]


def _fork(rank: int, size: int, act: Callable[[int], Any], folder: Path, save: Callable[[Any, str], None]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        torch.set_num_threads(1)
        store = dist.FileStore(str(folder / "store"), size)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=30))
        save(act(rank), str(folder / str(rank)))
        dist.destroy_process_group()
        code = 0
    finally:
        os._exit(code)


@contextmanager
def child(act: Callable[[], Any]) -> Iterator[int]:
    """Run `act` in a forked process, whose id is given; it is killed and reaped at the end, if it still runs."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            act()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
