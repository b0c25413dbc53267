"""Runs that are stopped by a person or by the system, and go on later as if they never had been."""

from __future__ import annotations

import os
import signal

import pytest
from story_world import (
    assert_same_bits,
    begun,
    events,
    final_tensors,
    hold,
    is_held,
    kinds,
    release,
    undisturbed,
    write_job,
)

RUN = ("runs", "stopped")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


def stop_at(folder, step, send, *words):
    """Begin a command, hold it after a step, send it something and let it go; return its exit code and its screen."""
    hold(folder, step)
    stops = kinds(folder.joinpath(*RUN)).count("stopping")
    with begun(folder, *words) as command:
        command.until(lambda: is_held(folder, step))
        send(command.pid)
        command.until(lambda: kinds(folder.joinpath(*RUN)).count("stopping") > stops)
        release(folder, step)
        return command.wait(), command.out, command.err


@pytest.mark.timeout(150)
def test_a_run_that_was_stopped_in_every_gentle_way_ends_with_the_bits_of_an_undisturbed_one(tmp_path, expected):
    run = tmp_path.joinpath(*RUN)
    write_job(tmp_path)

    code, out, err = stop_at(
        tmp_path, 17, lambda pid: os.kill(pid, signal.SIGINT), "train", "job.yaml", "run.name=stopped"
    )
    assert code == 130, err
    assert out.startswith("stopped after ")
    assert "Traceback" not in err
    assert "stopping: Ctrl-C" in err
    assert 17 < int(final_tensors(run)["step"]) < 41

    # Ctrl-C in a terminal goes to the whole group of processes in the foreground.
    code, out, err = stop_at(tmp_path, 41, lambda pid: os.killpg(pid, signal.SIGINT), "resume", str(run))
    assert code == 130, err
    assert 41 < int(final_tensors(run)["step"]) < 61

    code, out, err = stop_at(tmp_path, 61, lambda pid: os.kill(pid, signal.SIGTERM), "resume", str(run), "--json")
    assert code == 0, err
    assert '"status": "stopped"' in out
    assert 61 < int(final_tensors(run)["step"]) < 80

    with begun(tmp_path, "resume", str(run)) as command:
        assert command.wait() == 0, command.err
        assert command.out.startswith("finished after 80 steps")
    assert_same_bits(run, expected)
    assert "restarted" not in kinds(run)


@pytest.mark.timeout(90)
def test_a_second_ctrl_c_ends_everything_at_once_and_the_last_checkpoint_is_left(tmp_path):
    run = tmp_path.joinpath(*RUN)
    write_job(tmp_path)
    hold(tmp_path, 18)
    with begun(tmp_path, "train", "job.yaml", "run.name=stopped") as command:
        command.until(lambda: is_held(tmp_path, 18) and (run / "checkpoints" / "step-00000010").exists())
        os.killpg(command.pid, signal.SIGINT)
        command.until(lambda: kinds(run).count("stopping") == 1)
        os.killpg(command.pid, signal.SIGINT)
        assert command.wait() == 130
        assert command.out == ""
        assert "Traceback" not in command.err
        assert command.err.splitlines()[-1].startswith("stretto: ended at once, without saving (Ctrl-C); go on")
    assert int(final_tensors(run)["step"]) in (10, 15)
    assert [event.values["save"] for event in events(run, "stopping")] == [True, False]
