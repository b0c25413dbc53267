"""Pictures of which a square is missing, at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.data.transforms.pixels import pixels_of
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.draws import Draws


class Erase:
    """Sets a square of `size` by `size` pixels of each picture to zero; its middle may be any pixel (cutout).

    A part of the square may lie outside. Zero is the mean of pictures that are normalised: say this after `normalise`.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise DataError(f"transform erase: a square of {size} pixels erases nothing; give 1 or more")
        self._size = size

    def apply(self, inputs: Any, draws: Draws) -> Any:
        """Erase a square of every picture, in place."""
        pixels = pixels_of(inputs, "erase")
        above, before = (draws.below(length) - self._size // 2 for length in pixels.shape[2:])
        for picture, top, left in zip(pixels, above.tolist(), before.tolist(), strict=True):
            picture[:, max(top, 0) : top + self._size, max(left, 0) : left + self._size] = 0
        return inputs
