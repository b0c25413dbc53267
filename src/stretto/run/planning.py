"""Planning for the machine this runs on."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from operator import attrgetter
from typing import Final

from stretto.errors import JobError, Problem
from stretto.job import Choice, Job, Plan
from stretto.plan import make_plan

CHOICES: Final = (
    "model", "data", "task", "strategy", "layout", "engine", "loading.order", "training.optimizer",
    "training.schedule",
)  # fmt: skip
GIVEN: Final = "given"  # the module of live objects, which a program puts in place of words


def plan_here(job: Job) -> Plan:
    """Plan a job for this machine; a module that cannot be found here is said at once, without importing any."""
    problems = list(_missing_modules(job))
    if problems:
        raise JobError(problems)
    return make_plan(job, _cores(), devices_here())


def _missing_modules(job: Job) -> Iterator[Problem]:
    named: list[tuple[str, Choice | None]] = [(key, attrgetter(key)(job)) for key in CHOICES]
    named += [(f"loading.transform.{index}", choice) for index, choice in enumerate(job.loading.transform)]
    named += [(f"callbacks.{index}", choice) for index, choice in enumerate(job.callbacks)]
    named += [("validation.metrics", choice) for choice in job.metrics]
    for key, choice in named:
        module, colon, _ = choice.name.partition(":") if choice else ("", "", "")
        package = module.partition(".")[0]
        if colon and package != GIVEN and package not in sys.modules and find_spec(package) is None:
            yield Problem(key=key, message=f'there is no module "{package}"; start where it can be imported')


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
