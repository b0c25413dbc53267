"""FBNet: networks for phones that were found by gradient descent on the architecture itself.

Wu et al.: "FBNet: Hardware-aware efficient ConvNet design via differentiable neural architecture search", 2018.
"""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from stretto.errors import ModelError, choose
from stretto.model.zoo.resnet import convolution

# Seven stages: channels, stride of the first block, and how many blocks.
STAGES = ((16, 1, 1), (24, 2, 4), (32, 2, 4), (64, 2, 4), (112, 1, 4), (184, 2, 4), (352, 1, 1))

# What the search chose for every block, stage by stage: kernel-expansion, "g" for two groups, "skip" for no block.
CHOSEN = {
    "a": (
        "skip",
        "3-3 3-1 skip skip",
        "5-6 3-3 5-1 3-3",
        "5-6 5-3 5-1g 5-6",
        "3-6 5-1g 5-3 3-1g",
        "5-6 5-6 5-3 5-6",
        "5-6",
    ),
    "b": (
        "3-1",
        "3-6 5-1 3-1 3-1",
        "5-6 5-3 3-6 5-6",
        "5-6 5-6 skip 5-3",
        "5-6 3-1 5-1 5-3",
        "5-6 5-1 5-6 5-6",
        "3-6",
    ),
    "c": (
        "3-1",
        "3-6 skip 3-1 3-1",
        "5-6 5-3 5-6 3-6",
        "5-6 5-3 5-6 5-6",
        "5-6 5-6 5-6 5-3",
        "5-6 5-6 5-6 5-6",
        "3-6",
    ),
}
LAST_CHANNELS = {"a": 1504, "b": 1984, "c": 1984}


class FBNet(nn.Module):
    """One of the three networks of the paper (`variant` a, b or c), made for pictures of 224 pixels."""

    def __init__(self, variant: str = "c", classes: int = 1000, channels: int = 3, dropout: float = 0.2) -> None:
        super().__init__()
        if variant not in CHOSEN:
            raise ModelError(choose("FBNet's model.variant", str(variant), CHOSEN))
        last = LAST_CHANNELS[variant]
        self.stem = _normalised(convolution(channels, STAGES[0][0], 3, stride=2), nn.ReLU())
        self.blocks = _blocks(CHOSEN[variant])
        self.last = _normalised(convolution(STAGES[-1][0], last, 1), nn.ReLU())
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, classes))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return logits (n, classes) of pictures (n, channels, height, width)."""
        features = self.last(self.blocks(self.stem(inputs)))
        return cast(Tensor, self.head(features.mean(dim=(2, 3))))


class InvertedResidual(nn.Module):
    """A mobile block (MBConv): widen with 1 x 1, convolve every channel by itself, narrow with 1 x 1; add the input.

    With two groups each 1 x 1 convolution looks at half of the channels, so the halves are shuffled. With an expansion
    of 1 there is nothing to widen; the published sizes count it so.
    """

    def __init__(self, before: int, after: int, *, kernel: int, expansion: int, stride: int, groups: int = 1) -> None:
        super().__init__()
        wide = before * expansion
        widened = _normalised(convolution(before, wide, 1, groups=groups), nn.ReLU())
        self.widen = widened if expansion > 1 else nn.Identity()
        self.shuffle = nn.ChannelShuffle(groups) if groups > 1 else nn.Identity()
        self.depthwise = _normalised(convolution(wide, wide, kernel, stride, groups=wide), nn.ReLU())
        self.narrow = _normalised(convolution(wide, after, 1, groups=groups))
        self.residual = stride == 1 and before == after

    def forward(self, inputs: Tensor) -> Tensor:
        """Add what the block found to what came in, where shapes allow."""
        found = self.narrow(self.depthwise(self.shuffle(self.widen(inputs))))
        return cast(Tensor, inputs + found if self.residual else found)


def _normalised(layer: nn.Conv2d, *then: nn.Module) -> nn.Sequential:
    return nn.Sequential(layer, nn.BatchNorm2d(layer.out_channels), *then)


def _blocks(chosen: tuple[str, ...]) -> nn.Sequential:
    blocks, before = nn.Sequential(), STAGES[0][0]
    for (after, first_stride, count), words in zip(STAGES, chosen, strict=True):
        for place, word in zip(range(count), words.split(), strict=True):
            if word != "skip":
                blocks.append(_block(word, before, after, stride=1 if place else first_stride))
            before = after
    return blocks


def _block(word: str, before: int, after: int, stride: int) -> InvertedResidual:
    kernel, expansion = word.removesuffix("g").split("-")
    groups = 2 if word.endswith("g") else 1
    return InvertedResidual(before, after, kernel=int(kernel), expansion=int(expansion), stride=stride, groups=groups)
