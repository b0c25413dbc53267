"""Layers of neurons, each connected with all of the one before."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from torch import Tensor, nn

from stretto.errors import ModelError


class Mlp(nn.Module):
    """A multilayer perceptron with `depth` hidden layers of `width` neurons; inputs of any shape are flattened."""

    def __init__(self, features: int, outputs: int = 1, width: int = 128, depth: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        if depth < 0:
            raise ModelError(f"mlp: {depth} hidden layers cannot be built; model.depth is 0 or more")
        sizes = [features, *[width] * depth]
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()]
            if dropout:
                layers.append(nn.Dropout(dropout))
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], outputs))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return (n, outputs)."""
        return cast(Tensor, self.layers(inputs.flatten(1)))
