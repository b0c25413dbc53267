"""Whole trainings inside one process, seat by seat, for tests that compare every parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from seats import together
from torch import Tensor, nn

from stretto.communicate.transport import Transport
from stretto.job import Job, Seat, job_from
from stretto.observe.event import Event
from stretto.observe.run_folder import RunFolder
from stretto.run.equipment import Surroundings, equip


class Busy(nn.Module):
    """A small model with everything that could go wrong: normalisation, dropout, a parameter nobody uses."""

    def __init__(self, dropout: float = 0.2) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(6, 16), nn.BatchNorm1d(16)
        self.dropout, self.last = nn.Dropout(dropout), nn.Linear(16, 3)
        self.unused = nn.Parameter(torch.ones(2))

    def forward(self, inputs: Tensor) -> Tensor:
        return self.last(self.dropout(torch.relu(self.norm(self.first(inputs)))))


def samples(count: int, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Inputs and classes."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 6, generator=generator).double(), torch.randint(3, (count,), generator=generator)


def a_job(workers: int = 1, **changes: Any) -> Job:
    """A job over `samples`, its keys changed as `training__lr=0.1`."""
    values: dict[str, Any] = {
        "model": "given:Busy",
        "data": "given:samples",
        "task": "classification",
        "training": {"batch": 8, "lr": 0.05, "optimizer": {"name": "SGD", "momentum": 0.9}, "until": "2ep"},
        "cluster": {"workers": workers},
        "checkpoint": {"every": None},
    }
    for key, value in changes.items():
        section, _, name = key.partition("__")
        if name:
            values.setdefault(section, {})[name] = value
        else:
            values[section] = value
    return job_from(values)


def train(
    job: Job,
    folder: Path,
    *,
    model: Callable[[], nn.Module] = lambda: Busy().double(),
    data: Any = None,
    stop_at: int | None = None,
    go_on: bool = False,
    objects: Mapping[str, Any] | None = None,
    events: list[Event] | None = None,
) -> list[dict[str, Tensor]]:
    """Train on threads; return every seat's weights (and average) as they are at the end."""

    def seat(transport: Transport) -> dict[str, Tensor]:
        torch.manual_seed(job.training.seed)
        steps = iter(range(10**9))
        given = {"model": model(), "data": data or (pair(37), pair(11)), **(objects or {})}
        around = Surroundings(
            seat=Seat(id=transport.rank, rank=transport.rank, local_rank=transport.rank),
            transport=transport,
            folder=RunFolder(folder),
            objects=given,
            report=events.append if events is not None else lambda event: None,
            asked_to_stop=lambda: "asked" if stop_at is not None and next(steps) + 1 >= stop_at else None,
        )
        node, store = equip(job, around)
        if go_on:
            loaded = store.load()
            node.load_state(loaded.states, loaded.values)
        node.run()
        state = {name: tensor.clone() for name, tensor in given["model"].state_dict().items()}
        average = node.state().get("average") or {}
        return state | {f"average/{name}": tensor.clone() for name, tensor in average.get("weights", {}).items()}

    return together(job.cluster.workers, seat)


def pair(count: int) -> torch.utils.data.TensorDataset:
    """`samples` as a dataset."""
    return torch.utils.data.TensorDataset(*samples(count))
