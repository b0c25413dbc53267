"""From what the user wants and what the machine has to a plan."""

from __future__ import annotations

from stretto.errors import JobError
from stretto.job import Job, Plan, Seat, impossible


def make_plan(job: Job, cores: int, devices: int = 0) -> Plan:
    """Give every worker and sampler a seat on this machine, which has so many `cores` and so many GPUs (`devices`).

    Raises JobError when the job contradicts itself. More workers than cores or GPUs share them: `explain` says so.
    """
    problems = impossible(job)
    if problems:
        raise JobError(problems)
    workers, samplers = job.cluster.workers, job.cluster.samplers
    threads = job.cluster.threads or max(1, (cores - samplers) // workers)
    seats = [_worker(rank, threads, devices) for rank in range(workers)]
    seats += [Seat(id=workers + rank, role="sampler", rank=rank, local_rank=rank) for rank in range(samplers)]
    return Plan(job=job, seats=tuple(seats), cores=cores)


def _worker(rank: int, threads: int, devices: int) -> Seat:
    device = f"cuda:{rank % devices}" if devices else "cpu"
    return Seat(id=rank, role="worker", rank=rank, local_rank=rank, host="localhost", device=device, threads=threads)
