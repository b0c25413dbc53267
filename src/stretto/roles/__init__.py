"""Who a process is: the coordinator of a run, one of its workers, or one that serves them data."""

from __future__ import annotations

from typing import Final

ROLES: Final = {
    "coordinator": "stretto.roles.coordinator:Coordinator",
    "sampler": "stretto.roles.sampling_node:SamplingNode",
    "worker": "stretto.roles.worker_node:WorkerNode",
}
