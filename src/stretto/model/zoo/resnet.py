"""Residual networks: the small family for pictures of some 32 pixels, and the large one for some 224.

He, Zhang, Ren, Sun: "Deep residual learning for image recognition", 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from stretto.errors import ModelError

LARGE_STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}


class ResNet(nn.Module):
    """A residual network of `depth` layers with weights.

    Depths 18, 34 and 50 are the large family with its stem, which makes pictures four times smaller at once. Depths
    8, 14, 20, 32, 44, 56, 110 and so on (6n + 2) are the small family, whose first stage has `width` channels (16
    unless said otherwise; 64 in the large family). With `zero_init` every block begins as the identity, which steadies
    the first steps of large batches.
    """

    def __init__(
        self,
        depth: int = 20,
        classes: int = 10,
        channels: int = 3,
        width: int | None = None,
        zero_init: bool = False,
    ) -> None:
        super().__init__()
        large = depth in LARGE_STAGES
        if not large and (depth < 8 or (depth - 2) % 6):
            raise ModelError(f"a ResNet cannot have {depth} layers; model.depth is 6n + 2 (8, 14, 20, …) or 18, 34, 50")
        width = width or (64 if large else 16)
        block = Bottleneck if depth == 50 else BasicBlock
        self.stem = _large_stem(channels, width) if large else _small_stem(channels, width)
        self.stages = _stages(block, LARGE_STAGES[depth] if large else [(depth - 2) // 6] * 3, width)
        stages = 4 if large else 3
        self.head = nn.Linear(width * 2 ** (stages - 1) * block.expansion, classes)
        _initialise(self, zero_init)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return logits (n, classes) of pictures (n, channels, height, width)."""
        features = self.stages(self.stem(inputs))
        return cast(Tensor, self.head(features.mean(dim=(2, 3))))


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut."""

    expansion: ClassVar[int] = 1

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            convolution(before, width, 3, stride),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            convolution(width, width, 3),
            nn.BatchNorm2d(width),
        )
        self.shortcut = _shortcut(before, width, stride)

    def forward(self, inputs: Tensor) -> Tensor:
        """Add what the convolutions found to what came in."""
        return torch.relu(self.convolutions(inputs) + self.shortcut(inputs))


class Bottleneck(nn.Module):
    """A 3 x 3 convolution between two of 1 x 1 that narrow and widen, beside a shortcut."""

    expansion: ClassVar[int] = 4

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = width * self.expansion
        self.convolutions = nn.Sequential(
            convolution(before, width, 1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            convolution(width, width, 3, stride),  # the stride stands here, not before, as in every later version
            nn.BatchNorm2d(width),
            nn.ReLU(),
            convolution(width, after, 1),
            nn.BatchNorm2d(after),
        )
        self.shortcut = _shortcut(before, after, stride)

    def forward(self, inputs: Tensor) -> Tensor:
        """Add what the convolutions found to what came in."""
        return torch.relu(self.convolutions(inputs) + self.shortcut(inputs))


def convolution(before: int, after: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    """A convolution that keeps the picture's size (but for its stride) and leaves the bias to what normalises it."""
    return nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False)


def _small_stem(channels: int, width: int) -> nn.Sequential:
    return nn.Sequential(convolution(channels, width, 3), nn.BatchNorm2d(width), nn.ReLU())


def _large_stem(channels: int, width: int) -> nn.Sequential:
    narrow = convolution(channels, width, 7, stride=2)
    return nn.Sequential(narrow, nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1))


def _stages(block: type[BasicBlock] | type[Bottleneck], blocks: Sequence[int], width: int) -> nn.Sequential:
    stages, before = nn.Sequential(), width
    for index, count in enumerate(blocks):
        stage = nn.Sequential()
        for place in range(count):
            stage.append(block(before, width * 2**index, stride=2 if index and not place else 1))
            before = width * 2**index * block.expansion
        stages.append(stage)
    return stages


def _shortcut(before: int, after: int, stride: int) -> nn.Module:
    if stride == 1 and before == after:
        return nn.Identity()
    return nn.Sequential(convolution(before, after, 1, stride), nn.BatchNorm2d(after))


def _initialise(model: nn.Module, zero_init: bool) -> None:
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif zero_init and isinstance(module, (BasicBlock, Bottleneck)):
            nn.init.zeros_(cast(nn.BatchNorm2d, module.convolutions[-1]).weight)
