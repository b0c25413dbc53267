"""A plan in words, for a person to nod at before anything starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stretto.job import Choice, Job, Plan


def explain(plan: Plan) -> list[str]:
    """What will be done, one fact per line; lines that begin with `warning:` say what will probably disappoint."""
    return [*_intent(plan.job), _seats(plan), _batch(plan), *_loading(plan.job), *_warnings(plan)]


def _intent(job: Job) -> Iterator[str]:
    yield f"train {_worded(job.model)} on {_worded(job.data)} ({job.task.name}) until {job.training.until}"
    yield f"{_worded(job.training.optimizer)} with learning rate {job.training.lr:g}, in {job.training.precision}"


def _seats(plan: Plan) -> str:
    job, seat = plan.job, plan.seats[0]
    devices = ", ".join(sorted({seat.device for seat in plan.seats if seat.role == "worker"}))
    workers = _count(plan.workers, "worker")
    threads = _count(seat.threads, "thread")
    words = f"{_worded(job.strategy)}, {_worded(job.layout)}, engine {job.engine.name}"
    served = f", served by {_count(job.cluster.samplers, 'sampler')}" if job.cluster.samplers else ""
    return f"{workers} on {devices} with {threads} each{served}: {words}"


def _batch(plan: Plan) -> str:
    batch, accumulate = plan.job.training.batch, plan.job.training.accumulate
    smallest, rest = divmod(batch, plan.workers)
    share = f"{smallest} to {smallest + 1}" if rest else f"{smallest}"
    micro = f", in {accumulate} micro-batches" if accumulate > 1 else ""
    return f"{_count(batch, 'sample')} per update, {share} on each worker{micro}"


def _loading(job: Job) -> Iterator[str]:
    """How samples become batches, where the job says anything of it."""
    loading = job.loading
    told = [f"order {_worded(loading.order)}"] if loading.order else []
    told += [" then ".join(map(_worded, loading.transform))] if loading.transform else []
    told += ["damaged samples are left out"] if loading.damaged == "skip" else []
    told += ["shares by measured speed"] if job.cluster.shares == "measured" else []
    if told:
        yield f"batches: {'; '.join(told)}"


def _warnings(plan: Plan) -> Iterator[str]:
    threads = sum(seat.threads for seat in plan.seats if seat.role == "worker")
    if plan.cores is not None and plan.workers > plan.cores:
        cores = _count(plan.cores, "core")
        yield f"warning: {plan.workers} workers share {cores} and slow one another; use cluster.workers = {plan.cores}"
    elif plan.cores is not None and threads > plan.cores:
        yield f"warning: {threads} threads share {_count(plan.cores, 'core')}; leave cluster.threads out"
    for device, workers in sorted(Counter(seat.device for seat in plan.seats if seat.role == "worker").items()):
        if device != "cpu" and workers > 1:
            yield f"warning: {workers} workers share {device} and its memory; use one worker per GPU"


def _worded(choice: Choice) -> str:
    arguments = ", ".join(f"{key} {value}" for key, value in choice.arguments.items())
    return f"{choice.name} ({arguments})" if arguments else choice.name


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
