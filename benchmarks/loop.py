"""What does our loop cost beside a bare DistributedDataParallel loop?

Two workers with one thread each train the same model on the same batches, ours through the whole system (agents,
coordinator, events, prefetching, agreement in every step), the peer in the shortest loop that PyTorch allows:

    python benchmarks/loop.py [--rounds 5] [--json]

Measured is the mean time per step after a warm-up, on the first worker. On a machine with a GPU there are as many
workers as GPUs, and larger models; the peer of a single worker is a loop without DistributedDataParallel that never
waits for the GPU.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from comparison import Figure, alternate, arguments, show
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import stretto
from stretto.data.sources.arrays import Arrays
from stretto.job import Choice, job_from
from stretto.model.loading import load_model
from stretto.run.planning import devices_here

WARM_UP = 10
DEVICES = devices_here()
WORKERS = DEVICES or 2
ON_PROCESSORS = {  # model, its arguments, batch, steps
    "mlp": ("mlp", {"width": 512, "depth": 3}, 128, 150),
    "resnet": ("resnet", {"depth": 8}, 64, 60),
    "transformer": ("transformer", {"vocabulary": 256, "width": 128, "depth": 4, "heads": 4, "length": 64}, 16, 40),
}
ON_GPUS = {
    "mlp": ("mlp", {"width": 2048, "depth": 3}, 512, 500),
    "resnet": ("resnet", {"depth": 20}, 256, 300),
    "transformer": ("transformer", {"vocabulary": 256, "width": 512, "depth": 8, "heads": 8, "length": 64}, 64, 200),
}
WORK = ON_GPUS if DEVICES else ON_PROCESSORS


class Stopwatch(stretto.Callback):
    """Writes the seconds per step of the first worker."""

    def __init__(self, path: str) -> None:
        self.path, self.ends = Path(path), []

    def on_train_batch_end(self, training: object) -> None:
        if DEVICES and training.step in (WARM_UP, training.job.training.until.steps):
            torch.cuda.synchronize()
        self.ends.append(time.perf_counter())

    def on_fit_end(self, training: object) -> None:
        if training.rank == 0:
            self.path.write_text(json.dumps(per_step(self.ends)))


def per_step(ends: list[float]) -> float:
    """The mean time of a step after the warm-up: whatever is done only now and then counts too."""
    return (ends[-1] - ends[WARM_UP - 1]) / (len(ends) - WARM_UP)


def samples(name: str, count: int) -> tuple[Tensor, Tensor]:
    """Data of the shape the model wants; what is in it does not matter here."""
    torch.manual_seed(0)
    if name == "transformer":
        tokens = torch.randint(256, (count, 65))
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    shape = (1, 28, 28)
    return torch.randn(count, *shape), torch.randint(10, (count,))


def sources(of: str) -> tuple[Arrays, Arrays]:
    """The data as ours is told of it: by `data: loop:sources`."""
    data = Arrays(*samples(of, 2048))
    return data, data


def build(name: str) -> nn.Module:
    """The model, the same for both."""
    word, given, _, _ = WORK[name]
    torch.manual_seed(0)
    return load_model(Choice(word, given), {"classes": 10, "channels": 1, "features": 784, "outputs": 10})


def ours(name: str) -> float:
    """One training by `stretto.train`, on two processes."""
    word, given, batch, steps = WORK[name]
    with tempfile.TemporaryDirectory() as folder:
        seconds = f"{folder}/seconds"
        job = {
            "model": {"name": word, **given},
            "data": {"name": "loop:sources", "of": name},
            "task": "language_modelling" if name == "transformer" else "classification",
            "training": {
                "until": f"{steps + WARM_UP}step",
                "batch": batch,
                "lr": 0.01,
                "optimizer": {"name": "SGD", "momentum": 0.9},
                "normalisation": "local",
            },
            "validation": {"every": None},
            "checkpoint": {"every": None},
            "cluster": {"workers": WORKERS, "threads": 1},
            "callbacks": [{"name": "loop:Stopwatch", "path": seconds}],
            "run": {"folder": folder, "name": "run"},
        }
        stretto.train(job_from(job), quiet=True)
        return float(Path(seconds).read_text())


def peer(name: str) -> float:
    """The same by DistributedDataParallel, in processes forked from this one, which has everything imported."""
    with tempfile.TemporaryDirectory() as folder:
        children = [_fork(lambda rank=rank: bare_loop(name, rank, Path(folder))) for rank in range(WORKERS)]
        if any(os.waitpid(child, 0)[1] for child in children):
            raise SystemExit("the peer's loop failed")
        return float((Path(folder) / "seconds").read_text())


def bare_loop(name: str, rank: int, folder: Path) -> None:
    """What a person writes first."""
    torch.set_num_threads(1)
    device = torch.device(f"cuda:{rank}" if DEVICES else "cpu")
    model = build(name).to(device)
    if WORKERS > 1:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        store = dist.FileStore(str(folder / "store"), WORKERS)
        dist.init_process_group("nccl" if DEVICES else "gloo", store=store, rank=rank, world_size=WORKERS)
        model = DistributedDataParallel(model)
    _, _, batch, steps = WORK[name]
    inputs, targets = samples(name, 2048)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    own, ends = batch // WORKERS, []
    generator = torch.Generator().manual_seed(0)
    while len(ends) < steps + WARM_UP:
        order = torch.randperm(len(inputs), generator=generator)
        for start in range(0, len(order) - batch + 1, batch):
            indices = order[start + rank * own : start + (rank + 1) * own]
            outputs = model(inputs[indices].to(device, non_blocking=True))
            expected = targets[indices].to(device, non_blocking=True)
            loss = F.cross_entropy(outputs.reshape(-1, outputs.shape[-1]), expected.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if not DEVICES:
                loss.item()
            elif len(ends) in (WARM_UP - 1, steps + WARM_UP - 1):  # where the time is taken, and nowhere else
                torch.cuda.synchronize()
            ends.append(time.perf_counter())
    if rank == 0:
        (folder / "seconds").write_text(json.dumps(per_step(ends[: steps + WARM_UP])))
    if WORKERS > 1:
        dist.destroy_process_group()


def _fork(act: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return child


def main() -> None:
    """Measure every model."""
    chosen = arguments(__doc__ or "", rounds=5)
    figures = []
    for name in WORK:
        mine, theirs = alternate(chosen.rounds, lambda name=name: ours(name), lambda name=name: peer(name))
        figures.append(Figure(name=f"step_{name}", unit="s per step", goal="ratio <= 1.03", ours=mine, peer=theirs))
    show(figures, chosen.json)


if __name__ == "__main__":
    main()
