"""The sections `validation` and `stop`: how good the model is, and when that is enough."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from stretto.job.budget import Budget, Units
from stretto.job.choice import Choice, Words
from stretto.job.section import Section
from stretto.job.words import CLASS_NAME, METRICS

Metric = Annotated[Choice, Words(known=METRICS, pattern=CLASS_NAME)]


class Validation(Section):
    """When the model is judged on data it has not learned from, and by what."""

    every: Annotated[Budget, Units("ep", "step")] | None = Field(
        default=Budget(epochs=1), description="How often to validate, in ep or step; null never does."
    )
    batch: int = Field(default=256, ge=1, description="Samples per forward on each worker.")
    metrics: Annotated[tuple[Metric, ...], Field(strict=False)] | None = Field(
        default=None,
        description="Built-in: loss, accuracy, perplexity; or any class of torchmetrics by name. "
        "The loss is always there; null chooses by task.",
    )


def _sorted(target: dict[str, float]) -> dict[str, float]:
    return dict(sorted(target.items()))


class Stop(Section):
    """What ends the training before `training.until`."""

    target: Annotated[dict[str, float], AfterValidator(_sorted)] = Field(
        default={},
        description="Metrics and the values at which to stop, such as {accuracy: 0.99}; all must be reached.",
    )
    patience: int | None = Field(
        default=None, ge=1, description="Stop after so many validations without improvement of checkpoint.best."
    )
