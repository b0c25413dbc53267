"""Who sits where."""

import pytest

from stretto.errors import JobError
from stretto.job import job_from
from stretto.plan import make_plan


def job(workers=1, **cluster):
    return job_from(
        {"model": "mlp", "data": "digits", "task": "classification", "cluster": {"workers": workers, **cluster}}
    )


def test_every_worker_has_a_seat_and_an_even_share_of_the_cores():
    plan = make_plan(job(workers=3), cores=8)
    assert [(seat.id, seat.role, seat.rank, seat.local_rank) for seat in plan.seats] == [
        (0, "worker", 0, 0),
        (1, "worker", 1, 1),
        (2, "worker", 2, 2),
    ]
    assert {(seat.threads, seat.device, seat.host) for seat in plan.seats} == {(2, "cpu", "localhost")}
    assert (plan.workers, plan.cores) == (3, 8)


def test_a_worker_has_at_least_one_thread():
    assert {seat.threads for seat in make_plan(job(workers=4), cores=2).seats} == {1}


def test_the_job_may_say_how_many_threads():
    assert make_plan(job(workers=2, threads=3), cores=16).seats[0].threads == 3


def test_workers_go_to_the_gpus_in_turn():
    assert [seat.device for seat in make_plan(job(workers=3), cores=8, devices=2).seats] == [
        "cuda:0",
        "cuda:1",
        "cuda:0",
    ]


def test_a_job_that_contradicts_itself_gets_no_plan():
    fine = job()
    spoiled = fine.model_copy(update={"cluster": fine.cluster.model_copy(update={"workers": 100})})
    with pytest.raises(JobError, match="100 workers cannot share 64 samples"):
        make_plan(spoiled, cores=2)
