"""Pictures whose channels are shifted and scaled, usually to mean 0 and deviation 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stretto.data.transforms.pixels import pixels_of
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.draws import Draws


class Normalise:
    """Subtracts `mean` and divides by `deviation`, which are one number, or one for each channel.

    They are in the pictures' own units: bytes go from 0 to 255. Bytes become float32. Nothing about it is random, and
    a model that has learned from it needs it, so validation does it, too.
    """

    always = True

    def __init__(self, mean: float | Sequence[float], deviation: float | Sequence[float]) -> None:
        self._mean, self._deviation = (np.asarray(each, dtype=np.float64) for each in (mean, deviation))
        sound = all(np.isfinite(each).all() for each in (self._mean, self._deviation))
        if not sound or not (self._deviation > 0).all():
            fact = f"pictures cannot have mean {mean} and deviation {deviation}"
            raise DataError(f"transform normalise: {fact}; give finite numbers, and deviations above 0")

    def apply(self, inputs: Any, draws: Draws) -> Any:
        """Return the pictures as they are with this mean and deviation; those that are floats are changed in place."""
        pixels = pixels_of(inputs, "normalise")
        if pixels.dtype == np.uint8:
            pixels = pixels.astype(np.float32)
        pixels -= self._of_channels(self._mean, "mean", pixels)
        pixels /= self._of_channels(self._deviation, "deviation", pixels)
        return torch.from_numpy(pixels)

    def _of_channels(self, numbers: Any, name: str, pixels: Any) -> Any:
        if numbers.size not in (1, pixels.shape[1]):
            raise DataError(
                f"transform normalise: {name} has {numbers.size} numbers, but the pictures have {pixels.shape[1]} "
                "channels; give one number, or one for each channel"
            )
        return numbers.astype(pixels.dtype).reshape(-1, 1, 1)
