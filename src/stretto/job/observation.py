"""The sections `observe` and `run`: what is recorded, and where it goes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stretto.job.budget import Budget, Units
from stretto.job.section import Section


class Observe(Section):
    """What is recorded and shown while training."""

    every: Annotated[Budget, Units("step")] = Field(
        default=Budget(steps=10), description="How often scalars are recorded, in step."
    )
    progress: Literal["auto", "rich", "plain", "none"] = Field(
        default="auto", description="The display: rich on a terminal, plain lines, or none; auto looks where it runs."
    )
    tensorboard: bool = Field(default=False, description="Whether TensorBoard event files are written as well.")
    gradients: bool = Field(default=False, description="Whether the norms of the gradients are recorded.")


class RunFolder(Section):
    """Where the run leaves its files."""

    folder: str = Field(
        default="runs", min_length=1, description="Where run folders are made, relative to the working directory."
    )
    name: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,199}$",
        description="The run folder's name; null makes one of model, data and time.",
    )
