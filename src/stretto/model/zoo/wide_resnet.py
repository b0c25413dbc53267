"""Wide residual networks: fewer layers, more channels.

Zagoruyko, Komodakis: "Wide residual networks", 2016; WRN-28-10 is `depth: 28, widening: 10`.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from stretto.errors import ModelError
from stretto.model.zoo.resnet import convolution


class WideResNet(nn.Module):
    """A residual network of `depth` layers (6n + 4), `widening` times as wide as the small ResNet."""

    def __init__(
        self, depth: int = 16, widening: int = 4, classes: int = 10, channels: int = 3, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if depth < 10 or (depth - 4) % 6:
            raise ModelError(f"a wide ResNet cannot have {depth} layers; model.depth is 6n + 4 (10, 16, 22, 28, …)")
        self.stem = convolution(channels, 16, 3)
        self.blocks, before = nn.Sequential(), 16
        for index in range(3):
            for place in range((depth - 4) // 6):
                after = 16 * widening * 2**index
                self.blocks.append(WideBlock(before, after, 2 if index and not place else 1, dropout))
                before = after
        self.norm = nn.BatchNorm2d(before)
        self.head = nn.Linear(before, classes)
        _initialise(self)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return logits (n, classes) of pictures (n, channels, height, width)."""
        features = torch.relu(self.norm(self.blocks(self.stem(inputs))))
        return cast(Tensor, self.head(features.mean(dim=(2, 3))))


class WideBlock(nn.Module):
    """Two convolutions, each after its normalisation, with dropout between them, beside a shortcut."""

    def __init__(self, before: int, after: int, stride: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(before)
        self.convolutions = nn.Sequential(
            convolution(before, after, 3, stride),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.Dropout(dropout),
            convolution(after, after, 3),
        )
        self.shortcut = None if before == after and stride == 1 else convolution(before, after, 1, stride)

    def forward(self, inputs: Tensor) -> Tensor:
        """Add what the convolutions found to what came in; a shortcut that converts does so after normalisation."""
        normalised = torch.relu(self.norm(inputs))
        passed = inputs if self.shortcut is None else self.shortcut(normalised)
        return cast(Tensor, self.convolutions(normalised) + passed)


def _initialise(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
