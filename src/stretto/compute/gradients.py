"""A replica's gradients, laid out flat so that they travel without being copied together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.utils.hooks import RemovableHandle

BUCKET_BYTES = 25 * 2**20


class Bucket:
    """Some parameters' gradients in one flat tensor; every `parameter.grad` is a view of it.

    Behind the gradients stands one number per parameter, 1 if it took part in this step: summed over the seats it tells
    which parameters nobody used, whose gradient is then None as in plain PyTorch. `present` is the same of this seat
    alone, known without asking the device.
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
        self.forget()

    def forget(self) -> None:
        """Count every parameter as unused."""
        self.present = [False] * len(self.parameters)

    def complete(self) -> None:
        """Count a parameter that this backward has left out as zero, and write down which took part."""
        for parameter, view in zip(self.parameters, self.views, strict=True):
            if parameter.grad is None:
                view.zero_()
        if all(self.present):
            self.used.fill_(1)
        else:
            self.used.copy_(torch.tensor(self.present))

    def settle(self) -> None:
        """Give every parameter that some seat has used its summed gradient, and the others none."""
        if not all(self.present):  # else nothing has to be asked of the device, which may be busy
            self.present = [number > 0 for number in self.used.tolist()]
        for parameter, view, present in zip(self.parameters, self.views, self.present, strict=True):
            parameter.grad = view if present else None


class Gradients:
    """All gradients of a replica: plain ones, or in buckets once they are to `travel`.

    Buckets stand in the order in which backward is expected to finish them. While the last backward of a step runs
    (`closing`), every bucket that is complete is sent, strictly in order, so that it travels while the rest is still
    being computed. A backward that leaves parameters out is made up for by `finish`.
    """

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        self.buckets: list[Bucket] = []
        self.closing = False
        self._trained = [parameter for parameter in parameters if parameter.requires_grad]
        self._hooks: list[RemovableHandle] = []
        self._sent = 0

    def travel(self, send: Callable[[Bucket], None], bucket_bytes: int = BUCKET_BYTES) -> None:
        """Lay the gradients out in buckets, and hand each to `send` when it is complete."""
        self.stay()
        self._send = send
        self.buckets = [Bucket(part) for part in _in_buckets(self._trained[::-1], bucket_bytes)]
        self._hooks = [
            parameter.register_post_accumulate_grad_hook(self._hook(bucket, index))
            for bucket in self.buckets
            for index, parameter in enumerate(bucket.parameters)
        ]

    def stay(self) -> None:
        """Leave the gradients to PyTorch again."""
        for hook in self._hooks:
            hook.remove()
        self._hooks, self.buckets = [], []

    def clear(self) -> None:
        """Start a step without gradients: the first of each parameter is copied to its place, not added to zeros."""
        self.begin()
        self.closing = False
        for bucket in self.buckets:
            bucket.forget()
        for parameter in self._trained:
            parameter.grad = None

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
        """Multiply the gradients, once they have arrived, and drop those of parameters nobody used."""
        if factor != 1.0:
            gradients = [p.grad for p in self._trained if p.grad is not None]
            flats = [bucket.flat[: -len(bucket.parameters)] for bucket in self.buckets] or gradients
            if flats:
                torch._foreach_mul_(flats, factor)
        for bucket in self.buckets:
            bucket.settle()

    def _hook(self, bucket: Bucket, index: int) -> Callable[[Tensor], None]:
        view = bucket.views[index]

        def arrived(parameter: Tensor) -> None:
            if parameter.grad is not view and parameter.grad is not None:  # somebody replaced it, by zero_grad perhaps
                view.copy_(parameter.grad)
                parameter.grad = view
            bucket.present[index] = True
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
            self._send(bucket)


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
