"""In which number format forward and backward compute; parameters and updates stay fp32."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class Precision:
    """fp32, or autocast to bf16 or fp16; fp16 scales the loss, and leaves out updates whose gradient overflowed."""

    def __init__(self, name: str, device_type: str) -> None:
        self.name, self._device_type = name, device_type
        self._scaler = torch.amp.GradScaler(device_type, enabled=name == "fp16")

    def computing(self) -> AbstractContextManager[Any]:
        """The context in which the forward pass and the loss are computed."""
        if self.name == "fp32":
            return nullcontext()
        dtype = torch.bfloat16 if self.name == "bf16" else torch.float16
        return torch.autocast(self._device_type, dtype=dtype)

    def scale(self, loss: Tensor) -> Tensor:
        """Lift a loss so that small gradients survive fp16."""
        return self._scaler.scale(loss) if self._scaler.is_enabled() else loss

    def unscale(self, optimizer: Optimizer) -> None:
        """Bring summed gradients back to their true size, noting whether one overflowed."""
        if self._scaler.is_enabled():
            self._scaler.unscale_(optimizer)

    def update(self, optimizer: Optimizer) -> bool:
        """Let the optimizer act unless a gradient overflowed; tell whether it did act."""
        if not self._scaler.is_enabled():
            optimizer.step()
            return True
        before = self._scaler.get_scale()
        self._scaler.step(optimizer)
        self._scaler.update()
        return bool(self._scaler.get_scale() >= before)

    def state_dict(self) -> dict[str, Any]:
        """The scale of the loss and its history."""
        return dict(self._scaler.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with a saved scale."""
        if state:
            self._scaler.load_state_dict(state)
