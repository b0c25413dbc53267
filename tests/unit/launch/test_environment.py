"""The variables that torchrun's scripts read."""

from __future__ import annotations

from stretto.launch.environment import seat_environment


def test_a_seat_sees_what_torchrun_would_set():
    seen = seat_environment(run_id="run", view=3, restarts=4, rank=5, size=8, local_rank=1, local_size=4, threads=2)
    assert seen["RANK"] == "5"
    assert seen["WORLD_SIZE"] == "8"
    assert seen["LOCAL_RANK"] == "1"
    assert seen["LOCAL_WORLD_SIZE"] == "4"
    assert seen["MASTER_ADDR"] == "127.0.0.1"
    assert seen["TORCHELASTIC_RESTART_COUNT"] == "2"
    assert seen["TORCHELASTIC_MAX_RESTARTS"] == "4"
    assert seen["OMP_NUM_THREADS"] == "2"
