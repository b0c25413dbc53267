"""Batches, models and seats for the tests of validation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from stretto.communicate.memory import MemoryWorld
from stretto.communicate.transport import Transport
from stretto.data.batch import Batch

CLASSES = 5


def batches(samples: int, batch: int, first: int = 0, seed: int = 0) -> list[Batch]:
    """The samples from `first` on, of a small classification problem."""
    made = torch.Generator().manual_seed(seed)
    inputs = torch.randn(1000, 8, generator=made)
    targets = torch.randint(CLASSES, (1000,), generator=made)
    indices = torch.arange(first, first + samples)
    return [Batch(inputs[part], targets[part], part) for part in indices.split(batch)] if samples else []


def model(seed: int = 0) -> nn.Module:
    """A model whose answer to a sample depends on no other sample."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, CLASSES))


def outputs_of(judged: nn.Module, all_batches: list[Batch]) -> tuple[Tensor, Tensor]:
    """Logits and targets of all samples at once."""
    judged.eval()
    with torch.no_grad():
        logits = torch.cat([judged(batch.inputs) for batch in all_batches])
    return logits, torch.cat([batch.targets for batch in all_batches])


def together(size: int, act: Callable[[Transport], Any]) -> list[Any]:
    """Let `size` seats act at the same time, as threads; returns what each returned, or raises what one raised."""
    world, results = MemoryWorld(size), [None] * size

    def sit(rank: int) -> None:
        try:
            with world.seat(rank) as transport:
                results[rank] = act(transport)
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=sit, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results
