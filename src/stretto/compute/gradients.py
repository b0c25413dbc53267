"""A replica's gradients, laid out flat so that they travel without being copied together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby

import torch
from torch import Tensor
from torch.nn import Parameter

BUCKET_BYTES = 25 * 2**20


class Bucket:
    """Some parameters' gradients in one flat tensor; every `parameter.grad` is a view of it.

    Behind the gradients stands one number per parameter, 1 if it took part in this step: summed over the seats it tells
    which parameters nobody used, whose gradient is then None as in plain PyTorch.
    """

    def __init__(self, parameters: list[Parameter]) -> None:
        self.parameters = parameters
        numbers = sum(parameter.numel() for parameter in parameters)
        first = parameters[0]
        self.flat = torch.zeros(numbers + len(parameters), dtype=first.dtype, device=first.device)
        self.used = self.flat[numbers:]
        sizes = [parameter.numel() for parameter in parameters]
        parts = self.flat[:numbers].split(sizes)
        self.views = [part.view(p.shape) for part, p in zip(parts, parameters, strict=True)]
        self.missing = len(parameters)

    def clear(self) -> None:
        """Start a step without gradients: the first of each parameter is copied to its place, not added to zeros."""
        self.used.zero_()
        for parameter in self.parameters:
            parameter.grad = None

    def complete(self) -> None:
        """Count a parameter that this backward has left out as zero."""
        for parameter, view in zip(self.parameters, self.views, strict=True):
            if parameter.grad is None:
                view.zero_()

    def settle(self) -> None:
        """Give every parameter that some seat has used its summed gradient, and the others none."""
        for parameter, view, used in zip(self.parameters, self.views, self.used.tolist(), strict=True):
            parameter.grad = view if used else None


class Gradients:
    """All gradients of a replica in buckets, in the order in which backward is expected to finish them.

    While the last backward of a step runs (`closing`), every bucket that is complete is handed to `on_full`, strictly
    in order, so that it can travel while the rest is still being computed. A backward that leaves parameters out is
    made up for by `finish`.
    """

    def __init__(self, parameters: Iterable[Parameter], bucket_bytes: int = BUCKET_BYTES) -> None:
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        self.buckets = [Bucket(part) for part in _in_buckets(list(reversed(trained)), bucket_bytes)]
        self.on_full: Callable[[Bucket], None] | None = None
        self.closing = False
        self._sent = 0
        self._hooks = [
            parameter.register_post_accumulate_grad_hook(self._hook(bucket, index))
            for bucket in self.buckets
            for index, parameter in enumerate(bucket.parameters)
        ]

    def clear(self) -> None:
        """Start a step from zero."""
        self.begin()
        self.closing = False
        for bucket in self.buckets:
            bucket.clear()

    def begin(self) -> None:
        """Expect every parameter once more, on top of the gradients that are there, and let them travel this time."""
        self._sent = 0
        self.closing = True
        for bucket in self.buckets:
            bucket.missing = len(bucket.parameters)

    def finish(self) -> None:
        """Hand out the buckets that backward left incomplete."""
        self.closing = False
        self._hand_out(everything=True)

    def settle(self, factor: float) -> None:
        """Multiply what was summed, and drop the gradients of parameters nobody used."""
        for bucket in self.buckets:
            if factor != 1.0:
                bucket.flat[: -len(bucket.parameters)].mul_(factor)
            bucket.settle()

    def remove(self) -> None:
        """Take the hooks off the parameters."""
        for hook in self._hooks:
            hook.remove()

    def _hook(self, bucket: Bucket, index: int) -> Callable[[Tensor], None]:
        view, used = bucket.views[index], bucket.used[index]

        def arrived(parameter: Tensor) -> None:
            if parameter.grad is not view and parameter.grad is not None:  # somebody replaced it, by zero_grad perhaps
                view.copy_(parameter.grad)
                parameter.grad = view
            used.fill_(1)
            if self.closing:
                bucket.missing -= 1
                if bucket.missing == 0:
                    self._hand_out(everything=False)

        return arrived

    def _hand_out(self, everything: bool) -> None:
        while self._sent < len(self.buckets) and (everything or self.buckets[self._sent].missing == 0):
            self._sent += 1
            bucket = self.buckets[self._sent - 1]
            bucket.complete()
            if self.on_full is not None:
                self.on_full(bucket)


def _in_buckets(parameters: list[Parameter], bucket_bytes: int) -> Iterable[list[Parameter]]:
    for _, alike in groupby(parameters, key=lambda p: (p.dtype, p.device)):
        bucket: list[Parameter] = []
        filled_bytes = 0
        for parameter in alike:
            size_bytes = parameter.numel() * parameter.element_size()
            if bucket and filled_bytes + size_bytes > bucket_bytes:
                yield bucket
                bucket, filled_bytes = [], 0
            bucket.append(parameter)
            filled_bytes += size_bytes
        if bucket:
            yield bucket
