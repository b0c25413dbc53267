"""A plan in words."""

from stretto.job import job_from
from stretto.plan import explain, make_plan


def lines(cores=8, devices=0, **values):
    job = job_from({"model": {"name": "resnet", "depth": 8}, "data": "digits", "task": "classification"} | values)
    return explain(make_plan(job, cores=cores, devices=devices))


def test_a_plan_says_what_is_trained_by_whom_and_in_which_portions():
    assert lines(cluster={"workers": 2}) == [
        "train resnet (depth 8) on digits (classification) until 3ep",
        "AdamW with learning rate 0.001, in fp32",
        "2 workers on cpu with 4 threads each: synchronous, replicated, engine local",
        "64 samples per update, 32 on each worker",
    ]


def test_uneven_shares_and_micro_batches_are_said():
    text = lines(cluster={"workers": 3}, training={"accumulate": 2})
    assert text[-1] == "64 samples per update, 21 to 22 on each worker, in 2 micro-batches"


def test_more_workers_than_cores_are_warned_of():
    warning = "warning: 4 workers share 2 cores and slow one another; use cluster.workers = 2"
    assert lines(cores=2, cluster={"workers": 4})[-1] == warning


def test_more_threads_than_cores_are_warned_of():
    warning = "warning: 6 threads share 4 cores; leave cluster.threads out"
    assert lines(cores=4, cluster={"workers": 2, "threads": 3})[-1] == warning


def test_workers_on_one_gpu_are_warned_of():
    text = lines(devices=1, cluster={"workers": 2})
    assert text[-1] == "warning: 2 workers share cuda:0 and its memory; use one worker per GPU"
