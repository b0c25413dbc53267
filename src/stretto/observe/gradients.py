"""How long the gradient is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.optim import Optimizer


def gradient_norms(optimizer: Optimizer) -> dict[str, float]:
    """Measure the Euclidean norm of each parameter group's gradient (when there are several) and of all together.

    A gradient that overflowed shows as inf or nan. Parameters without a gradient count as zero.
    """
    norms = [_norm(group["params"]) for group in optimizer.param_groups]
    total = sum(norm * norm for norm in norms) ** 0.5
    groups = {f"gradient_norm/group_{index}": norm for index, norm in enumerate(norms)} if len(norms) > 1 else {}
    return {"gradient_norm": total, **groups}


def _norm(parameters: list[Any]) -> float:
    import torch

    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    return float(torch.nn.utils.get_total_norm(gradients)) if gradients else 0.0
