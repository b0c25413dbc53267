"""Pictures that are shifted at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view

from stretto.data.transforms.pixels import pixels_of
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.draws import Draws


class Crop:
    """Cuts each picture, at its own size, out of one with `padding` zeros around it: a shift by up to `padding`."""

    def __init__(self, padding: int = 4) -> None:
        if padding < 1:
            raise DataError(f"transform crop: a padding of {padding} shifts nothing; give 1 or more, or leave it out")
        self._padding = padding

    def apply(self, inputs: Any, draws: Draws) -> Any:
        """Return the pictures, each shifted by its own number of rows and columns."""
        pixels, border = pixels_of(inputs, "crop"), self._padding
        count, channels, height, width = pixels.shape
        padded = np.zeros((count, channels, height + 2 * border, width + 2 * border), dtype=pixels.dtype)
        padded[:, :, border : border + height, border : border + width] = pixels
        windows = sliding_window_view(padded, (height, width), axis=(2, 3))
        down, right = draws.below(2 * border + 1), draws.below(2 * border + 1)
        return torch.from_numpy(windows[np.arange(count), :, down, right])
