"""Runs whose processes are killed at random instants, and runs whose disk fails: what is left, and what is said."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal

import pytest
from launch_world import is_alive, wait_until
from story_world import (
    assert_same_bits,
    begun,
    events,
    final_tensors,
    hold,
    kinds,
    release,
    some_time,
    undisturbed,
    write_job,
)

import stretto
from stretto.errors import SeatFailed, WorkersLost
from stretto.observe.callback import Callback

KILLS = 20


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.timeout(150)
def test_workers_killed_at_twenty_random_instants_leave_no_trace_in_the_result(tmp_path, expected):
    chance, run = random.Random(20), tmp_path / "runs" / "killed"
    write_job(tmp_path)
    hold(tmp_path, 79)
    with begun(tmp_path, "train", "job.yaml", "run.name=killed") as command:
        command.until(lambda: (run / "events.jsonl").exists())
        for killed in range(KILLS):
            command.until(lambda so_far=killed: kinds(run).count("view_started") > so_far and command.workers())
            some_time(chance.uniform(0.0, 0.6))
            os.kill(chance.choice(command.workers() or [command.pid]), signal.SIGKILL)
            command.until(lambda so_far=killed: kinds(run).count("restarted") > so_far)
        release(tmp_path, 79)
        assert command.wait() == 0, command.err
    assert_same_bits(run, expected)
    reasons = {event.values["reason"] for event in events(run, "restarted")}
    assert reasons <= {f"worker {rank} of 2 was killed by SIGKILL" for rank in range(2)}


@pytest.mark.timeout(150)
def test_a_launching_process_killed_thrice_leaves_no_orphan_and_a_run_that_can_be_moved_and_resumed(tmp_path, expected):
    chance, run = random.Random(3), tmp_path / "runs" / "first"
    write_job(tmp_path)
    hold(tmp_path, 79)
    words = ("train", "job.yaml", "run.name=first")
    for number in range(3):
        with begun(tmp_path, *words) as command:
            command.until(lambda here=run / "job.yaml": here.exists() and len(command.living()) >= 3)
            some_time(chance.uniform(0.0, 5.0))
            family = command.living()
            os.kill(command.pid, signal.SIGKILL)
            command.process.wait()
            assert wait_until(lambda pids=family: not any(map(is_alive, pids)), 10.0)
            assert command.living() == []
        moved = tmp_path / f"elsewhere-{number}"
        run = run.rename(moved)
        words = ("resume", str(moved))
    release(tmp_path, 79)
    with begun(tmp_path, *words) as command:
        assert command.wait() == 0, command.err
    assert_same_bits(run, expected)


class Vanish(Callback):
    """Is killed, each time."""

    def on_train_batch_start(self, training) -> None:
        if training.rank == 1 and training.step == 3:
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_budget_of_restarts_that_is_spent_ends_the_run_in_words(tmp_path):
    changes = ("callbacks=[]", "cluster.restarts=2", f"run.folder={tmp_path}", "run.name=lost")
    with pytest.raises(WorkersLost) as caught:
        stretto.train(stretto.read_job(write_job(tmp_path), changes), quiet=True, objects={"callbacks": [Vanish()]})
    assert caught.value.exit_code == 4
    assert str(caught.value) == "worker 1 of 2 was killed by SIGKILL, and no restarts are left (cluster.restarts)"
    assert [event.values["left"] for event in events(tmp_path / "lost", "restarted")] == [1, 0]


def test_a_seat_that_raises_ends_all_and_its_own_traceback_comes_last(tmp_path):
    write_job(tmp_path)
    with begun(tmp_path, "train", "job.yaml", 'callbacks=["held:Boom"]', "run.name=failed") as command:
        assert command.wait() == 3
        assert command.out == ""
        last = command.err[command.err.index("stretto: worker 1 failed: user's code: ValueError: three is not") :]
        assert last.count("Traceback (most recent call last)") == 1
        assert 'held.py", line' in last
        assert "raised by the callback Boom in on_train_batch_start at step 3" in last.splitlines()[-1]
    assert events(tmp_path / "runs" / "failed", "failed")[0].seat == 1


class DiskFull(Callback):
    """From one step to another no file may grow beyond a few bytes on one seat; the checkpoint of step 10 is there."""

    def __init__(self, rank: int, first: int, last: int) -> None:
        self.rank, self.first, self.last = rank, first, last

    def on_train_batch_end(self, training) -> None:
        if training.rank == self.rank and training.step == self.first:
            assert wait_until((training.folder / "checkpoints" / "step-00000010").exists, 20.0)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        if training.step == self.last:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_disk_that_is_full_for_a_while_costs_checkpoints_but_not_the_training(rank, tmp_path, expected):
    job = stretto.read_job(write_job(tmp_path), ["callbacks=[]", f"run.folder={tmp_path}", "run.name=full"])
    result = stretto.train(job, quiet=True, objects={"callbacks": [DiskFull(rank, 18, 33)]})
    assert (result.status, result.steps) == ("finished", 80)
    warnings = [event.values["message"] for event in events(tmp_path / "full", "warning")]
    assert any(text.startswith("no checkpoint: writing seat-0000") and "bytes needed" in text for text in warnings)
    saved = {event.values["saved_step"] for event in events(tmp_path / "full", "checkpoint_saved")}
    assert {10, 35, 80} <= saved
    assert not {20, 25} & saved
    found = final_tensors(tmp_path / "full")
    assert all(found[name].equal(tensor) for name, tensor in expected.items())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_disk_that_stays_full_is_an_error_at_the_end_and_the_last_good_checkpoint_is_left(workers, tmp_path):
    changes = ["callbacks=[]", f"run.folder={tmp_path}", "run.name=full", f"cluster.workers={workers}"]
    job = stretto.read_job(write_job(tmp_path), changes)
    with pytest.raises(
        SeatFailed, match=r"seat-00000.safetensors of step 80 failed: .* free some space or set checkpoint.keep lower"
    ) as caught:
        stretto.train(job, quiet=True, objects={"callbacks": [DiskFull(0, 18, 1000)]})
    assert caught.value.exit_code == 5
    assert int(final_tensors(tmp_path / "full")["step"]) in (10, 15)
    assert max(event.step or 0 for event in events(tmp_path / "full", "progress")) >= 79


def test_a_checkpoint_with_a_flipped_bit_is_named_and_the_one_before_is_used(tmp_path, expected, capfd):
    job = stretto.read_job(write_job(tmp_path), ["callbacks=[]", f"run.folder={tmp_path}", "run.name=bent"])
    stretto.train(job, quiet=True, objects={"callbacks": [Callback()]})
    shard = tmp_path / "bent" / "checkpoints" / "step-00000080" / "seat-00000.safetensors"
    content = bytearray(shard.read_bytes())
    content[-9] ^= 4
    shard.write_bytes(content)
    shutil.move(tmp_path / "bent", tmp_path / "moved")
    stretto.resume(tmp_path / "moved", ["observe.progress=plain"], objects={"callbacks": [Callback()]})
    said = capfd.readouterr().err
    assert re.search(r"checkpoint damaged: step 80 is damaged: .*seat-00000.*; going back to step 75\n", said), said
    assert "training resumed at step 75" in said
    assert_same_bits(tmp_path / "moved", expected)
