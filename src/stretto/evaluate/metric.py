"""A figure that says how good a model is: the contract of every metric."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor


class Metric(Protocol):
    """Something that is summed up batch by batch on every worker, and turned into one number at the end.

    Only sums travel, so the number is that of all samples together however they were spread: no sample counts twice,
    and a worker without samples adds nothing. A metric that is no quotient of sums keeps `sums` empty and agrees with
    the other workers in `value`.
    """

    @property
    def name(self) -> str:
        """What the metric is called in results."""
        ...

    @property
    def higher_is_better(self) -> bool | None:
        """Its direction; None when the metric does not know."""
        ...

    def reset(self) -> None:
        """Forget all batches."""
        ...

    def update(self, outputs: Any, targets: Any, loss_sum: Tensor, weight: float) -> None:
        """Take one batch into account: what the model said, what was right, and the task's loss with its weight."""
        ...

    @property
    def sums(self) -> Tensor:
        """What this worker has gathered, as float64 numbers that may be added to those of others."""
        ...

    def value(self, sums: Tensor) -> float:
        """Turn the sums over all workers into the metric; every worker calls this, in the same order of metrics."""
        ...
