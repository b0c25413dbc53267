"""The section `cluster`: how many processes there are and what each does, and how much loss of them is borne."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stretto.job.section import Section


class Cluster(Section):
    """The processes that train."""

    workers: int = Field(default=1, ge=1, le=65536, description="How many processes train.")
    samplers: int = Field(
        default=0,
        ge=0,
        le=4096,
        description="How many processes read the data and serve batches; 0 lets every worker read for itself.",
    )
    shares: Literal["even", "measured"] = Field(
        default="even",
        description="How a batch is shared out: evenly, or by each worker's measured speed; the batch stays the same.",
    )
    threads: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Torch threads per worker; null shares the cores evenly, at least 1 each.",
    )
    restarts: int = Field(default=3, ge=0, description="How many lost workers are replaced before the run gives up.")
    silence_s: float = Field(default=30.0, gt=0, description="Seconds of silence after which a worker's agent is lost.")
