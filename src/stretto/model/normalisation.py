"""Batch normalisation over the samples of all workers, so that results do not depend on how many there are."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm

from stretto.errors import ModelError

if TYPE_CHECKING:
    from stretto.communicate.transport import Transport

CONVERTED = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


class SynchronisedBatchNorm(_BatchNorm):
    """Like nn.BatchNorm on the batches of all seats put together, whatever each has, be it nothing.

    (PyTorch's SyncBatchNorm refuses tensors outside a GPU and empty ones.) Every seat has to run every forward and
    backward, with or without samples, and differentiate its part of the global loss: a sum over its samples divided by
    the same number on all seats. The parameters' gradients are then each seat's part, to be summed like all others.
    Forward gathers once, backward sums once; with `eval()` nothing travels. A lost peer raises `PeerLost`.
    """

    synchronised = True
    transport: Transport

    @classmethod
    def convert(cls, norm: _BatchNorm, transport: Transport) -> SynchronisedBatchNorm:
        """Take over a layer as it is: the same parameters, buffers, hooks and names."""
        converted = cls.__new__(cls)
        converted.__dict__.update(norm.__dict__)
        converted.transport = transport
        return converted

    def forward(self, input: Tensor) -> Tensor:
        """Normalise every channel (dimension 1) with mean and variance over all seats."""
        if not self.training:
            return super().forward(input)
        self._check_input_dim(input)
        return self._normalise_together(input)  # type: ignore[no-any-return]

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _normalise_together(self, inputs: Tensor) -> Tensor:
        mean, variance, count = _statistics(inputs.detach(), self.transport)
        self._update_running(mean, variance, count)
        channel = (self.eps, self.transport)
        result: Tensor = _Normalisation.apply(inputs, self.weight, self.bias, mean, variance, count, *channel)  # type: ignore[no-untyped-call]
        return result

    def _update_running(self, mean: Tensor, variance: Tensor, count: float) -> None:
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked.add_(1)
        weight = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), weight)
        self.running_var.lerp_((variance * (count / (count - 1))).to(self.running_var.dtype), weight)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ModelError(f"batch normalisation got {input.dim()} dimensions; it needs samples and channels")

    def __deepcopy__(self, memo: dict[int, Any]) -> SynchronisedBatchNorm:
        memo[id(self.transport)] = self.transport  # a copy of the model speaks through the same channel
        copied = type(self).__new__(type(self))
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return copied


def synchronise(model: nn.Module, transport: Transport) -> nn.Module:
    """Make a model's batch normalisation synchronised, and return the model.

    Layers are replaced in place; parameters, buffers and the state_dict's keys stay, so that optimizers and checkpoints
    made before or after agree. Alone in its group a model stays as it is. All seats have to call this together.
    """
    found = [module for module in model.modules() if isinstance(module, _BatchNorm) and type(module) in CONVERTED]
    if transport.size == 1 or not found:
        return model
    channel = transport.split("normalisation")
    converted = {id(norm): SynchronisedBatchNorm.convert(norm, channel) for norm in found}
    for module in list(model.modules()):
        for name, child in module._modules.items():  # named_children leaves out what has a second name
            if id(child) in converted:
                setattr(module, name, converted[id(child)])
    return converted.get(id(model), model)


def _statistics(inputs: Tensor, transport: Transport) -> tuple[Tensor, Tensor, float]:
    """Mean and (biased) variance of every channel over all seats, and how many values there were.

    Chan's formula combines the seats' means, squared deviations and counts; nothing large is ever subtracted. NumPy
    does it: a few hundred numbers cost it less than they cost torch.
    """
    channels = inputs.shape[1]
    gathered = torch.stack(transport.gather(_summary(inputs))).cpu().numpy()
    counts, means, deviations = gathered[:, -1:], gathered[:, :channels], gathered[:, channels:-1]
    count = float(counts.sum())
    if count < 2:
        raise ModelError(
            f"batch normalisation saw {count:.0f} values per channel over all {transport.size} workers and needs 2; "
            "give a larger batch (training.batch), or say training.normalisation=local"
        )
    mean = (counts * means).sum(0) / count
    variance = (deviations + counts * (means - mean) ** 2).sum(0) / count
    dtype = torch.promote_types(inputs.dtype, torch.float32)
    both = torch.from_numpy(np.stack([mean, variance])).to(inputs.device, dtype)
    return both[0], both[1], count


def _summary(inputs: Tensor) -> Tensor:
    """One seat's means, sums of squared deviations and count, in one tensor of double precision that travels."""
    channels = inputs.shape[1]
    if not inputs.numel():
        return torch.zeros(2 * channels + 1, dtype=torch.float64, device=inputs.device)
    exact = inputs.to(torch.promote_types(inputs.dtype, torch.float32))
    mean, variance = torch.batch_norm_update_stats(exact, None, None, 0.0)
    count = torch.tensor([inputs.numel() // channels], dtype=torch.float64, device=inputs.device)
    return torch.cat([mean, variance * count, count])


class _Normalisation(torch.autograd.Function):
    """The normalisation itself, as a function of the samples that all seats share.

    With g the gradient of the output and x' the normalised input, a mean taken over all seats:
    gradient of the input = weight / deviation * (g - mean(g) - x' * mean(g * x')).
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        variance: Tensor,
        count: float,
        eps: float,
        transport: Transport,
    ) -> Tensor:
        ctx.save_for_backward(inputs, weight, mean, variance)
        ctx.count, ctx.eps, ctx.transport = count, eps, transport
        return _apply(inputs, weight, bias, mean, variance, eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        inputs, weight, mean, variance = ctx.saved_tensors
        of_weight, of_bias = _own_sums(gradient, inputs, mean, variance, ctx.eps)
        of_inputs = None
        if ctx.needs_input_grad[0]:  # the same on all seats, as they have the same model
            sums = torch.cat([of_weight, of_bias])
            ctx.transport.sum(sums).wait()
            with_scaled, alone = (sums / ctx.count).chunk(2)
            scale = (variance + ctx.eps).rsqrt() if weight is None else (variance + ctx.eps).rsqrt() * weight
            correction = _apply(inputs, -scale * with_scaled, -scale * alone, mean, variance, ctx.eps)
            of_inputs = correction.addcmul_(gradient, _along(scale, inputs).to(inputs.dtype))
        _, weight_learns, bias_learns, *_ = ctx.needs_input_grad
        return of_inputs, of_weight if weight_learns else None, of_bias if bias_learns else None, *[None] * 5


def _apply(
    inputs: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, variance: Tensor, eps: float
) -> Tensor:
    if not inputs.numel():
        return torch.empty_like(inputs)
    return F.batch_norm(inputs, mean, variance, weight, bias, training=False, eps=eps)


def _own_sums(gradient: Tensor, inputs: Tensor, mean: Tensor, variance: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """This seat's sums over gradient * normalised input and over the gradient, for every channel."""
    if not inputs.numel():
        return torch.zeros_like(mean), torch.zeros_like(mean)
    if inputs.is_cuda:
        inverse = (variance + eps).rsqrt()
        gradient = gradient.contiguous()
        _, _, of_weight, of_bias = torch.batch_norm_backward_reduce(
            gradient, inputs.contiguous(), mean, inverse, torch.ones_like(mean), True, True, True
        )
    else:
        _, of_weight, of_bias = torch.ops.aten.native_batch_norm_backward(
            gradient, inputs, None, mean, variance, None, None, False, eps, [False, True, True]
        )
    return of_weight, of_bias


def _along(vector: Tensor, inputs: Tensor) -> Tensor:
    return vector.view(-1, *[1] * (inputs.dim() - 2))
