"""The section `training`: how the model is changed by the data."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stretto.job.budget import Budget
from stretto.job.choice import Choice, Words
from stretto.job.section import Section
from stretto.job.words import CLASS_NAME, OPTIMIZERS, SCHEDULES


class Training(Section):
    """How the model is changed by the data, and for how long."""

    batch: int = Field(default=64, ge=1, description="Samples per update, over all workers together.")
    accumulate: int = Field(default=1, ge=1, description="Micro-batches per update on each worker.")
    optimizer: Annotated[Choice, Words(known=OPTIMIZERS, pattern=CLASS_NAME)] = Field(
        default=Choice("AdamW"), description="Any class of torch.optim by name, or module:Class, with its arguments."
    )
    lr: float = Field(default=0.001, gt=0, description="The learning rate given to the optimizer.")
    schedule: Annotated[Choice, Words(known=SCHEDULES, pattern=CLASS_NAME)] | None = Field(
        default=None,
        description="Any class of torch.optim.lr_scheduler by name, or module:Class; null keeps the rate.",
    )
    schedule_per: Literal["update", "epoch"] = Field(default="update", description="When the schedule takes a step.")
    clip: float | None = Field(default=None, gt=0, description="The largest norm of the gradient; null does not clip.")
    average: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Decay of a moving average of the weights (EMA), such as 0.999; null keeps none.",
    )
    precision: Literal["fp32", "bf16", "fp16"] = Field(
        default="fp32", description="Number format of forward and backward."
    )
    compile: bool = Field(default=False, description="Whether the model is compiled by torch.compile.")
    seed: int = Field(default=0, ge=0, lt=2**63, description="The origin of every random number of the run.")
    until: Budget = Field(
        default=Budget(epochs=3), description="How long to train: 3ep, 2000step, 10min, or several with or."
    )
    normalisation: Literal["synchronised", "local"] | None = Field(
        default=None,
        description="Batch normalisation's statistics: over all workers, or each worker its own. null synchronises "
        "where every update is that of the global batch; workers that learn alone (local_sgd) have their own.",
    )
