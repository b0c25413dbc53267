"""The numbers of a batch of pictures, to be changed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stretto.data.sources.row_file import Rows
from stretto.errors import DataError

KINDS = (torch.uint8, torch.float16, torch.float32, torch.float64)


def pixels_of(inputs: Any, transform: str) -> Rows:
    """Return pictures as an array (n, channels, height, width) on the same memory, or say that they are none.

    Transforms compute with NumPy: torch would wake a second set of threads, beside those that train.
    """
    if isinstance(inputs, Tensor) and inputs.ndim == 4 and inputs.dtype in KINDS:
        pixels: Rows = inputs.numpy()
        return pixels
    is_tensor = isinstance(inputs, Tensor)
    what = f"{inputs.dtype} of shape {tuple(inputs.shape)}" if is_tensor else type(inputs).__name__
    raise DataError(
        f"transform {transform} changes pictures, uint8 or float tensors of shape (samples, channels, height, width), "
        f"but the inputs are {what}; leave it out of loading.transform, or use data with pictures"
    )
