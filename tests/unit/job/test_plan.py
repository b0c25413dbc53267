"""A plan travels to other processes as one line of JSON."""

import dataclasses

import pytest

from stretto.errors import JobError
from stretto.job import Plan, Seat, job_from

JOB = job_from(
    {
        "model": {"name": "mine:Model", "sizes": [1, 2]},
        "data": "digits",
        "task": "classification",
        "validation": {"metrics": ["F1Score"]},
        "checkpoint": {"best": {"name": "F1Score", "higher": True}, "every": "5min"},
        "stop": {"target": {"loss": 0.1}},
    }
)
SEATS = tuple(Seat(id=rank, rank=rank, local_rank=rank, threads=2) for rank in range(3))


def test_a_plan_arrives_as_it_left():
    plan = Plan(job=JOB, seats=SEATS, cores=8)
    assert "\n" not in plan.to_json()
    assert Plan.from_json(plan.to_json()) == plan


def test_a_plan_counts_its_workers():
    assert Plan(job=JOB, seats=(*SEATS, Seat(id=9, role="server", rank=0, local_rank=0))).workers == 3


def test_a_plan_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Plan(job=JOB, seats=SEATS).seats = ()  # type: ignore[misc]


def test_a_plan_whose_job_was_spoiled_is_refused():
    with pytest.raises(JobError, match=r"training\.batch"):
        Plan.from_json(Plan(job=JOB, seats=SEATS).to_json().replace('"batch": 64', '"batch": 0'))
