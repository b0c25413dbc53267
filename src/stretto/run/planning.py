"""Planning for the machine this runs on."""

from __future__ import annotations

import ctypes
import os

from stretto.job import Job, Plan
from stretto.plan import make_plan


def plan_here(job: Job) -> Plan:
    """Plan a job for this machine."""
    return make_plan(job, _cores(), devices_here())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def devices_here() -> int:
    """How many GPUs there are, asked of the driver's own library, because torch is not to be loaded here."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return len([each for each in chosen.split(",") if each.strip() not in ("", "-1")])
    try:
        driver = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return 0
    count = ctypes.c_uint(0)
    if driver.nvmlInit_v2() or driver.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return 0
    driver.nvmlShutdown()
    return count.value
