"""A training loop of one's own, made synchronous: plain `loss.backward()` and `optimizer.step()` stay as they are."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd import Variable
from torch.optim import Optimizer
from torch.utils import _pytree as pytree

from stretto.communicate.transport import Pending, Transport
from stretto.compute.gradients import Bucket, Gradients
from stretto.strategies.averaging import equalise


class Sliced(Protocol):
    """A loader that hands out this worker's part of every global batch."""

    @property
    def current(self) -> tuple[int, int]:
        """How many samples of the present batch are here, and how many on all workers."""
        ...


class OwnLoop:
    """Turns the gradients of every backward into those of the global batch, while backward still runs.

    The loss is taken to be a mean over the worker's samples. Where a batch does not divide evenly, the gradient that
    enters the model is weighted by the worker's share, so that the mean over the workers is that of the global batch.
    Gradients are the same on all workers as soon as `backward` returns: clipping and scalers see what they expect.
    """

    def __init__(self, model: nn.Module, optimizer: Optimizer, loader: Sliced, transport: Transport) -> None:
        self._loader, self._transport = loader, transport
        self._travelling: list[Pending] = []
        self._in_backward = False
        equalise(model, transport)
        self._gradients = Gradients(model.parameters())
        self._gradients.travel(self._send)
        self._gradients.closing = True
        model.register_forward_hook(self._watch_outputs)
        optimizer.register_step_post_hook(self._count_anew)

    def enter_backward(self) -> None:
        """Get ready to send; called when the first gradient enters the model."""
        if not self._in_backward:
            self._in_backward = True
            self._gradients.begin()
            Variable._execution_engine.queue_callback(self._leave_backward)

    def _leave_backward(self) -> None:
        self._gradients.finish()
        for pending in self._travelling:
            pending.wait()
        self._travelling.clear()
        self._gradients.settle(1 / self._transport.size)
        self._in_backward = False

    def _watch_outputs(self, model: nn.Module, inputs: Any, outputs: Any) -> Any:
        if not torch.is_grad_enabled():
            return outputs
        here, everywhere = self._loader.current
        weight = here * self._transport.size / max(everywhere, 1)
        return pytree.tree_map_only(Tensor, lambda tensor: self._watch(tensor, weight), outputs)

    def _watch(self, tensor: Tensor, weight: float) -> Tensor:
        if not tensor.requires_grad:
            return tensor
        watched: Tensor = _Entrance.apply(tensor, self, weight)  # type: ignore[no-untyped-call]
        return watched

    def _send(self, bucket: Bucket) -> None:
        self._travelling.append(self._transport.sum(bucket.flat))

    def _count_anew(self, *_: Any) -> None:
        for bucket in self._gradients.buckets:
            bucket.forget()


class _Entrance(torch.autograd.Function):
    """The identity; its gradient, the first that enters the model, is weighted and announced."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, loop: OwnLoop, weight: float) -> Tensor:
        ctx.loop, ctx.weight = loop, weight
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        ctx.loop.enter_backward()
        return gradient if ctx.weight == 1.0 else gradient * ctx.weight, None, None
