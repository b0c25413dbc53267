"""From the metrics a job names to metrics that can be summed up."""

from __future__ import annotations

from collections.abc import Iterable

from stretto.communicate.transport import Transport
from stretto.errors import JobError, Problem
from stretto.evaluate import METRICS
from stretto.evaluate.metric import Metric
from stretto.evaluate.torchmetrics_metric import TorchmetricsMetric
from stretto.job import Choice


def make_metrics(choices: Iterable[Choice], transport: Transport) -> list[Metric]:
    """Make every metric once, the loss first whether it is named or not.

    Raises `JobError` for an unknown metric or one named twice, `MissingExtra` without torchmetrics.
    """
    metrics: list[Metric] = [METRICS["loss"]()]
    for choice in choices:
        if choice.name != "loss":
            metrics.append(_make(choice, transport))
    names = [metric.name for metric in metrics]
    for name in names:
        if names.count(name) > 1:
            message = f'"{name}" is there {names.count(name)} times; keep one'
            raise JobError([Problem(message=message, key="validation.metrics")])
    return metrics


def _make(choice: Choice, transport: Transport) -> Metric:
    if choice.name not in METRICS:
        return TorchmetricsMetric(choice, transport)
    if choice.arguments:
        message = f"{choice.name} takes no arguments, not {', '.join(choice.arguments)}"
        raise JobError([Problem(message=message, key="validation.metrics")])
    return METRICS[choice.name]()
