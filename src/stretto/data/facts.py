"""What a model has to know of the data it learns from."""

from __future__ import annotations

from math import prod
from typing import Any

from torch import Tensor


def facts_of(inputs: Any, targets: Any, classes: int | None = None) -> dict[str, Any]:
    """Read off one batch what can be known; `classes` cannot, so whoever knows it says it.

    >>> import torch
    >>> facts_of(torch.zeros(2, 3, 8, 8), torch.zeros(2, dtype=torch.long), classes=10)["channels"]
    3
    """
    facts: dict[str, Any] = {}
    if isinstance(inputs, Tensor):
        shape = tuple(inputs.shape[1:])
        facts |= {"shape": shape, "features": prod(shape)}
        if len(shape) == 3:
            facts["channels"] = shape[0]
    if classes is not None:
        facts |= {"classes": classes, "outputs": classes}
    elif isinstance(targets, Tensor) and targets.is_floating_point():
        facts["outputs"] = prod(targets.shape[1:])
    return facts
