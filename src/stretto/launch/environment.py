"""The environment variables that torchrun sets, for scripts that read them."""

from __future__ import annotations

import sys


def seat_environment(
    *,
    run_id: str,
    view: int,
    restarts: int,
    rank: int,
    size: int,
    local_rank: int,
    local_size: int,
    threads: int,
    role: str = "worker",
) -> dict[str, str]:
    """What a seat sees of its place, so that a plain script can call `init_process_group()` and needs no change.

    >>> variables = seat_environment(
    ...     run_id="r", view=1, restarts=3, rank=3, size=4, local_rank=3, local_size=4, threads=1
    ... )
    >>> variables["RANK"], variables["WORLD_SIZE"], variables["MASTER_ADDR"]
    ('3', '4', '127.0.0.1')
    """
    values = {
        "RANK": rank,
        "WORLD_SIZE": size,
        "LOCAL_RANK": local_rank,
        "LOCAL_WORLD_SIZE": local_size,
        "GROUP_RANK": 0,
        "GROUP_WORLD_SIZE": 1,
        "ROLE_RANK": rank,
        "ROLE_WORLD_SIZE": size,
        "ROLE_NAME": role,
        "MASTER_ADDR": "127.0.0.1",
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",  # all seats are on this host
        "TORCHELASTIC_RUN_ID": run_id,
        "TORCHELASTIC_RESTART_COUNT": view - 1,
        "TORCHELASTIC_MAX_RESTARTS": restarts,
        "OMP_NUM_THREADS": threads,
    }
    return {name: str(value) for name, value in values.items()}
