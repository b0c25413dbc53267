"""From the bytes of a picture file to a square of pixels."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from stretto.data.sources.normalisation import Bytes, Normalisation
from stretto.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = ("png", "jpg", "jpeg", "bmp", "webp", "gif", "tif", "tiff", "ppm", "pgm")
FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF", "PPM")
# What ImageNet's pictures have, in colour and in grey, which models that were trained before expect.
NORMALISATIONS = {
    1: Normalisation((0.449,), (0.226,)),
    3: Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}


class PictureDecoder:
    """Decodes pictures so that the shorter side becomes `size` pixels and the middle is kept, in grey or in colour."""

    def __init__(self, size: int, channels: int) -> None:
        try:
            from PIL import Image as pillow
            from PIL import UnidentifiedImageError
        except ImportError as error:
            raise MissingExtra("pillow", "images") from error
        if channels not in NORMALISATIONS:
            raise DataError(f"pictures cannot have {channels} channels; say 1 (grey) or 3 (colour)")
        if size < 1:
            raise DataError(f"pictures cannot have {size} pixels a side; give 1 or more")
        self.shape: tuple[int, ...] = (channels, size, size)
        self._pillow, self._unknown = pillow, UnidentifiedImageError
        self._size, self._mode = size, "RGB" if channels == 3 else "L"
        self._normalisation = NORMALISATIONS[channels]

    def room(self, samples: int) -> Bytes:
        """Return memory for the pixels of a batch, in the order in which decoders give them."""
        channels, height, width = self.shape
        return np.empty((samples, height, width, channels), dtype=np.uint8)

    def decode(self, content: bytes, row: Bytes) -> None:
        """Write the pixels of a file into a row; `ValueError` says what is wrong with the file."""
        try:
            picture = self._fit(self._pillow.open(BytesIO(content), formats=FORMATS))
            row[...] = np.frombuffer(picture.tobytes(), dtype=np.uint8).reshape(row.shape)
        except self._unknown as error:
            raise ValueError(f"no picture of the kinds {', '.join(FORMATS)}") from error
        except Exception as error:  # decoders raise whatever they stumble over
            raise ValueError(f"{type(error).__name__}: {error}") from error

    def tensor(self, rows: Any) -> Tensor:
        """Normalise a whole batch at once: (n, channels, height, width)."""
        return torch.from_numpy(self._normalisation.apply(rows.transpose(0, 3, 1, 2)))

    def _fit(self, picture: Image) -> Image:
        width, height = picture.size
        if width * height > (self._pillow.MAX_IMAGE_PIXELS or width * height):  # pillow itself only warns at first
            raise ValueError(f"{width} x {height} pixels are too many to be a picture")
        picture.draft(self._mode, (self._size, self._size))  # a JPEG is decoded at a half or a quarter where that does
        picture = self._convert(picture)
        width, height = picture.size
        if width == height == self._size:
            return picture
        side = min(width, height)
        middle = ((width - side) / 2, (height - side) / 2, (width + side) / 2, (height + side) / 2)
        return picture.resize((self._size, self._size), self._pillow.Resampling.BILINEAR, box=middle)

    def _convert(self, picture: Image) -> Image:
        if picture.mode == self._mode:
            return picture
        if picture.mode.startswith("I;16"):  # pillow would cut what is above 255 instead of scaling it
            picture = self._pillow.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
        picture.info.pop("transparency", None)  # what is behind a transparent pixel is of no interest
        return picture.convert(self._mode)
