"""What was decided: the job, and a seat for every process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self

from stretto.job.job import Job
from stretto.job.reading import job_from
from stretto.job.seat import Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A job with its seats, checked as a whole before any process starts; `cores` is what the machine has, if known."""

    job: Job
    seats: tuple[Seat, ...]
    cores: int | None = None

    @property
    def workers(self) -> int:
        """How many seats train."""
        return sum(seat.role == "worker" for seat in self.seats)

    def to_json(self) -> str:
        """The plan as one line of JSON, for the processes that follow it."""
        seats = [asdict(seat) for seat in self.seats]
        return json.dumps({"job": self.job.model_dump(), "seats": seats, "cores": self.cores})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The plan that `to_json` wrote; raises JobError when its job is not one."""
        values = json.loads(text)
        seats = tuple(Seat(**seat) for seat in values["seats"])
        return cls(job=job_from(values["job"]), seats=seats, cores=values["cores"])
