"""The section `loading`: how samples become batches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from stretto.job.choice import Choice, Words
from stretto.job.section import Section
from stretto.job.words import ORDERS, TRANSFORMS


class Loading(Section):
    """How samples become batches."""

    order: Annotated[Choice, Words(known=ORDERS)] | None = Field(
        default=None,
        description="Which samples an epoch visits, in which order; null shuffles, and keeps the order of a stream.",
    )
    transform: Annotated[tuple[Annotated[Choice, Words(known=TRANSFORMS)], ...], Field(strict=False)] = Field(
        default=(), description="What is done to the inputs of training batches, one after the other; normalise to all."
    )
    damaged: Literal["fail", "skip"] = Field(
        default="fail", description="Whether a damaged sample ends the training, or is left out, named and counted."
    )
    ahead: int = Field(default=2, ge=0, le=64, description="Batches that are made ready ahead of each worker.")
