"""Bytes of pictures become numbers with mean 0 and deviation 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class Normalisation:
    """What each channel's mean and deviation are, of values from 0 to 1.

    >>> grey = Normalisation((0.5,), (0.25,))
    >>> grey.apply(np.array([[[[0, 255]]]], dtype=np.uint8)).round(3).tolist()
    [[[[-2.0, 2.0]]]]
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def apply(self, pictures: Bytes) -> Floats:
        """Return a whole batch (n, channels, height, width) at once, in memory of its own."""
        deviation = np.array(self.deviation).reshape(-1, 1, 1)
        numbers = pictures.astype(np.float32, order="C")
        numbers *= (1 / (255 * deviation)).astype(np.float32)
        numbers -= (np.array(self.mean).reshape(-1, 1, 1) / deviation).astype(np.float32)
        return numbers
