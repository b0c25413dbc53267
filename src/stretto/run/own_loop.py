"""For people who keep their own training loop: three added lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

    Model = TypeVar("Model", bound=nn.Module)


def attach(model: Model, optimizer: Optimizer, loader: Any, *, seed: int = 0) -> tuple[Model, Optimizer, Any]:
    """Make a loop of one's own train on all workers; started alone, it returns everything as it is.

    The loader's batch size is the global batch: every worker gets its part of it, whatever their number, and the
    update is that of the whole. Batch normalisation is synchronised. Start the script with `stretto run script.py
    --workers 4`, or with torchrun.

    >>> model, optimizer, loader = attach(model, optimizer, loader)        # doctest: +SKIP
    """
    import torch
    import torch.distributed as dist

    if not dist.is_initialized() and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        dist.init_process_group("nccl" if next(model.parameters()).is_cuda else "gloo")
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return model, optimizer, loader

    from stretto.communicate.process_group import ProcessGroup
    from stretto.compute.randomness import mixed_seed
    from stretto.data.slicing import slice_loader
    from stretto.model.normalisation import synchronise
    from stretto.roles.own_loop import OwnLoop

    transport = ProcessGroup.present()
    sliced = slice_loader(loader, transport.rank, transport.size, seed)
    synchronise(model, transport)
    OwnLoop(model, optimizer, sliced, transport)
    if transport.rank:
        torch.manual_seed(mixed_seed(seed, "seat", transport.rank))
    return model, optimizer, sliced
