"""What does it bring that workers keep the memory they have freed?

    python benchmarks/allocation.py [--rounds 7] [--json]

A small ResNet learns in a process of its own with one thread, 128 pictures of 28 x 28 pixels per step; ours keeps what
it frees, the peer is PyTorch as glibc has it by default. Measured is the mean time of a step after a warm-up.
"""

from __future__ import annotations

import os
import time

import torch
import torch.nn.functional as F
from comparison import Figure, alternate, arguments, show

from stretto.job import Choice
from stretto.launch.allocation import keep_freed_memory
from stretto.model.loading import load_model

WARM_UP, STEPS, BATCH = 10, 40, 128


def in_a_process(keep: bool) -> float:
    """The seconds per step of a forked process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if keep:
                keep_freed_memory()
            os.write(writing, repr(seconds_per_step()).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    seconds = float(os.read(reading, 100))
    os.close(reading)
    os.close(writing)
    return seconds


def seconds_per_step() -> float:
    """Learn for a while."""
    torch.set_num_threads(1)
    model = load_model(Choice("resnet", {"depth": 8}), {"classes": 10, "channels": 1})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets = torch.randn(BATCH, 1, 28, 28), torch.randint(10, (BATCH,))
    for step in range(WARM_UP + STEPS):
        if step == WARM_UP:
            start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    return (time.perf_counter() - start) / STEPS


def main() -> None:
    """Measure both."""
    chosen = arguments(__doc__ or "", rounds=7)
    ours, peer = alternate(chosen.rounds, lambda: in_a_process(True), lambda: in_a_process(False))
    show([Figure(name="step_keeping_memory", unit="s per step", ours=ours, peer=peer)], chosen.json)


if __name__ == "__main__":
    main()
