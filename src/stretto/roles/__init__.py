"""Who a process is: the coordinator of a run, or one of its workers."""

from __future__ import annotations

from typing import Final

ROLES: Final = {
    "coordinator": "stretto.roles.coordinator:Coordinator",
    "worker": "stretto.roles.worker_node:WorkerNode",
}
