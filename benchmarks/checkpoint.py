"""How long does training stand still for a checkpoint of 60 MB?

    python benchmarks/checkpoint.py [--rounds 9] [--json]

- checkpoint_pause: ours, asynchronous, beside torch.distributed.checkpoint.async_save: the time until the training loop
  has the processor back. The writing that follows is waited for outside of it.
- checkpoint_synchronous: ours until it is safely on disk, beside torch.save until it is handed to the system.
- checkpoint_load: ours, every digest verified, beside torch.load, which notices no flipped bit.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path

import torch
import torch.distributed.checkpoint as distributed_checkpoint
from comparison import Figure, alternate, arguments, show

from stretto.checkpoint.folder import FolderStore
from stretto.checkpoint.saving import Saver

Way = Callable[[dict, int], float]
STATE_BYTES = 60_000_000
TENSORS = 150


def make_state() -> dict[str, torch.Tensor]:
    """Weights as of a model with 150 tensors."""
    return {f"layer{number}.weight": torch.randn(STATE_BYTES // 4 // TENSORS) for number in range(TENSORS)}


def ours(folder: Path) -> Way:
    """Our saver as a training loop uses it; what follows the pause is finished before the next measurement."""
    saver = Saver(FolderStore(folder / "ours"))

    def save(state: dict, step: int) -> float:
        seconds = timed(lambda: saver.begin(step, 0, {"model": state}))
        saver.wait()
        saver.commit(step, saver.written())
        saver.delete([step - 2])
        saver.wait()
        return seconds

    return save


def ours_synchronous(folder: Path) -> Way:
    """Our saver without its thread, until the checkpoint is committed."""
    saver = Saver(FolderStore(folder / "ours_synchronous"), asynchronous=False)

    def save(state: dict, step: int) -> float:
        def whole() -> None:
            saver.begin(step, 0, {"model": state})
            saver.commit(step, saver.written())

        seconds = timed(whole)
        saver.delete([step - 2])
        return seconds

    return save


def async_save(folder: Path) -> Way:
    """PyTorch's asynchronous checkpoint of one process, in a new folder each time."""

    def save(state: dict, step: int) -> float:
        futures = []
        place = folder / f"async_save-{step}"

        def begin() -> None:
            futures.append(distributed_checkpoint.async_save({"model": state}, checkpoint_id=place, no_dist=True))

        seconds = timed(begin)
        futures[0].result()
        shutil.rmtree(place)
        return seconds

    return save


def torch_save(folder: Path) -> Way:
    """The plain way, into a new file each time."""

    def save(state: dict, step: int) -> float:
        file = folder / f"torch_save-{step}.pt"
        seconds = timed(lambda: torch.save({"model": state}, file))
        file.unlink()
        return seconds

    return save


def ours_load(folder: Path) -> Way:
    """Loading with every digest verified."""
    store = FolderStore(folder / "ours_load")
    store.commit(1, [store.write_shard(1, 0, {"model": make_state()})], None)
    return lambda state, step: timed(store.load)


def torch_load(folder: Path) -> Way:
    """Loading as PyTorch does it by default, which notices no flipped bit."""
    torch.save({"model": make_state()}, folder / "torch_load.pt")
    return lambda state, step: timed(lambda: torch.load(folder / "torch_load.pt", weights_only=True))


def timed(work: Callable[[], object]) -> float:
    """The seconds that the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def beside(rounds: int, state: dict, mine: Way, theirs: Way) -> tuple[list[float], list[float]]:
    """Both ways in alternating order, in milliseconds, after one round to warm up."""
    steps = count(1)
    calls = [lambda way=way: 1000 * way(state, next(steps)) for way in (mine, theirs)]
    found = alternate(rounds + 1, *calls)
    return found[0][1:], found[1][1:]


def main() -> None:
    """Measure three pairs."""
    warnings.filterwarnings("ignore", message="torch.distributed is")
    chosen, state = arguments(__doc__ or "", rounds=9), make_state()
    pairs = {  # name: ours, the peer, and the goal
        "checkpoint_pause": (ours, async_save, "ours <= 100"),
        "checkpoint_synchronous": (ours_synchronous, torch_save, ""),
        "checkpoint_load": (ours_load, torch_load, ""),
    }
    figures = []
    for name, (mine, theirs, goal) in pairs.items():
        with tempfile.TemporaryDirectory() as folder:
            found = beside(chosen.rounds, state, mine(Path(folder)), theirs(Path(folder)))
        figures.append(Figure(name=name, unit="ms", goal=goal, ours=found[0], peer=found[1]))
    show(figures, chosen.json)


if __name__ == "__main__":
    main()
