"""The smallest model: one matrix."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn


class Linear(nn.Module):
    """Linear regression, or logistic regression when the task is classification; inputs of any shape are flattened."""

    def __init__(self, features: int, outputs: int = 1, bias: bool = True) -> None:
        super().__init__()
        self.linear = nn.Linear(features, outputs, bias=bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return (n, outputs)."""
        return cast(Tensor, self.linear(inputs.flatten(1)))
