"""Pictures that are mirrored at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.data.transforms.pixels import pixels_of
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.draws import Draws


class Flip:
    """Mirrors each picture, left and right, with a probability of `chance`."""

    def __init__(self, chance: float = 0.5) -> None:
        if not 0 <= chance <= 1:
            raise DataError(f"transform flip: {chance} is no probability; give a chance from 0 to 1")
        self._chance = chance

    def apply(self, inputs: Any, draws: Draws) -> Any:
        """Mirror some of the pictures, in place."""
        pixels, chosen = pixels_of(inputs, "flip"), draws.uniform() < self._chance
        pixels[chosen] = pixels[chosen, :, :, ::-1]
        return inputs
