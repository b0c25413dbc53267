"""How long does training stand still for a checkpoint of 60 MB?

Measures ours, torch.save and PyTorch's distributed asynchronous checkpoint in one run, in alternating order:

    python benchmarks/checkpoint.py [--rounds 9] [--folder FOLDER] [--json]

The pause is the time until the training loop has the processor back; the writing that follows is waited for outside of
it. Ours fsyncs everything and computes digests, torch.save does neither.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.distributed.checkpoint as distributed_checkpoint

from stretto.checkpoint.folder import FolderStore
from stretto.checkpoint.saving import Saver

STATE_BYTES = 60_000_000
TENSORS = 150
GOAL_MS = 100.0
NAMES = {
    "ours": "ours, asynchronous: pause",
    "async_save": "torch.distributed.checkpoint.async_save: pause",
    "ours_synchronous": "ours, synchronous: until safely on disk",
    "torch_save": "torch.save: until handed to the system",
    "ours_load": "ours: load and verify",
    "torch_load": "torch.load: load",
}


def make_state() -> dict[str, torch.Tensor]:
    """Weights as of a model with 150 tensors."""
    return {f"layer{number}.weight": torch.randn(STATE_BYTES // 4 // TENSORS) for number in range(TENSORS)}


def ours(folder: Path) -> Callable[[dict, int], float]:
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


def ours_synchronous(folder: Path) -> Callable[[dict, int], float]:
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


def async_save(folder: Path) -> Callable[[dict, int], float]:
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


def torch_save(folder: Path) -> Callable[[dict, int], float]:
    """The plain way, into a new file each time."""

    def save(state: dict, step: int) -> float:
        file = folder / f"torch_save-{step}.pt"
        seconds = timed(lambda: torch.save({"model": state}, file))
        file.unlink()
        return seconds

    return save


def ours_load(folder: Path) -> Callable[[dict, int], float]:
    """Loading with every digest verified."""
    store = FolderStore(folder / "ours_load")
    store.commit(1, [store.write_shard(1, 0, {"model": make_state()})], None)
    return lambda state, step: timed(store.load)


def torch_load(folder: Path) -> Callable[[dict, int], float]:
    """Loading as PyTorch does it by default, which notices no flipped bit."""
    torch.save({"model": make_state()}, folder / "torch_load.pt")
    return lambda state, step: timed(lambda: torch.load(folder / "torch_load.pt", weights_only=True))


def timed(work: Callable[[], object]) -> float:
    """The seconds that the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every way, one warm-up and then so many rounds, each round in the opposite order."""
    ways = {
        way.__name__: way(folder) for way in (ours, async_save, ours_synchronous, torch_save, ours_load, torch_load)
    }
    state = make_state()
    figures: dict[str, list[float]] = {name: [] for name in ways}
    for step in range(1, rounds + 2):
        for name in order(list(ways), step):
            milliseconds = 1000 * ways[name](state, step)
            if step > 1:
                figures[name].append(milliseconds)
    return figures


def order(names: list[str], step: int) -> Iterator[str]:
    """Forwards and backwards by turns, so that nobody always follows the same one."""
    return iter(names if step % 2 else names[::-1])


def compare(figures: dict[str, list[float]], mine: str, theirs: str, goal_ms: float | None) -> dict[str, object]:
    """One figure beside its peer, as the machine-readable last line has it."""
    medians = {name: statistics.median(figures[name]) for name in (mine, theirs)}
    comparison: dict[str, object] = {
        "ours": round(medians[mine], 2),
        "peer": round(medians[theirs], 2),
        "ratio": round(medians[theirs] / medians[mine], 2),
        "spread": [round(min(figures[mine]), 2), round(max(figures[mine]), 2)],
    }
    if goal_ms is not None:
        comparison |= {"goal": f"<= {goal_ms:g}", "reached": medians[mine] <= goal_ms}
    return comparison


def main() -> None:
    """Measure, print the table, and with --json the line for machines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="measurements of each way (at least 5)")
    parser.add_argument("--folder", type=Path, default=None, help="where to write (default: the system's place)")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="torch.distributed is")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        figures = measure(Path(folder), max(arguments.rounds, 5))
    print(f"{STATE_BYTES / 1e6:.0f} MB in {TENSORS} tensors, {max(arguments.rounds, 5)} rounds; milliseconds")
    print(f"{'':52}{'median':>10}{'least':>10}{'most':>10}")
    for name, milliseconds in figures.items():
        median = statistics.median(milliseconds)
        print(f"{NAMES[name]:52}{median:10.1f}{min(milliseconds):10.1f}{max(milliseconds):10.1f}")
    if arguments.json:
        comparisons = {
            "pause_ms": compare(figures, "ours", "async_save", GOAL_MS),
            "synchronous_ms": compare(figures, "ours_synchronous", "torch_save", None),
            "load_ms": compare(figures, "ours_load", "torch_load", None),
        }
        print(json.dumps(comparisons))


if __name__ == "__main__":
    main()
