"""Planning for the machine this runs on."""

from __future__ import annotations

import os
from pathlib import Path

from stretto.job import Job, Plan
from stretto.plan import make_plan


def plan_here(job: Job) -> Plan:
    """Plan a job for this machine."""
    return make_plan(job, _cores(), _devices())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _devices() -> int:
    """How many GPUs there are, asked of the driver, because torch is not to be loaded here."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return len([each for each in chosen.split(",") if each.strip() not in ("", "-1")])
    driver = Path("/proc/driver/nvidia/gpus")
    return len(list(driver.iterdir())) if driver.is_dir() else 0
