"""What all sections of a job file have in common: they are frozen, typed strictly, and refuse unknown keys."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """One mapping of the job file. Whole numbers do for real ones, but "3" does not do for 3."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def __hash__(self) -> int:
        return hash(self.model_dump_json())
