"""Making replicas equal: by the first one's state, or by the mean of all."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stretto.communicate.transport import Transport


@torch.no_grad()
def equalise(model: nn.Module, transport: Transport) -> None:
    """Give every replica the parameters and buffers of the first."""
    if transport.size > 1:
        for tensor in [*model.parameters(), *model.buffers()]:
            transport.broadcast(tensor)


@torch.no_grad()
def average(model: nn.Module, transport: Transport) -> None:
    """Replace parameters and floating-point buffers by their mean over all replicas."""
    if transport.size == 1:
        return
    tensors = [t for t in [*model.parameters(), *model.buffers()] if t.is_floating_point()]
    for dtype in sorted({t.dtype for t in tensors}, key=str):
        _average([t for t in tensors if t.dtype == dtype], transport)


def _average(tensors: list[Tensor], transport: Transport) -> None:
    flat = torch.cat([t.detach().reshape(-1) for t in tensors])
    transport.sum(flat).wait()
    flat /= transport.size
    for tensor, part in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
        tensor.copy_(part.view(tensor.shape))
