"""The same small runs on every engine: what must hold whoever runs the slots."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import launch_world
import pytest
from launch_world import Watch, is_alive, kill, launch, wait_until

from stretto.communicate.membership import Patience
from stretto.errors import Interrupted, SeatFailed, WorkersLost
from stretto.launch.inline import InlineEngine
from stretto.launch.local import LocalEngine

ENGINES = {
    "inline": lambda: InlineEngine(objects={"answer": 42}),
    "local": lambda: LocalEngine(),
    "local with objects": lambda: LocalEngine(objects={"answer": 42}),
}
PROCESSES = ["local", "local with objects"]
TORCH = ("torch", "torch._dynamo", "torch.nn.parallel", "torch.distributed.optim")


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]()


@pytest.fixture(params=PROCESSES)
def process_engine(request):
    return ENGINES[request.param]()


def test_four_slots_start_with_ranks_of_their_own_and_rank_0_gives_the_result(engine, request):
    watch = Watch(4)
    result = launch(engine, "finish", watch)
    assert result["rank"] == 0
    assert result["view"] == 1
    assert sorted(each.seat for each in watch.events if each.kind == "worker_ready") == [0, 1, 2, 3]
    assert watch.kinds().count("view_started") == 1


def test_a_worker_has_the_environment_of_its_assignment():
    assert launch(LocalEngine(), "finish", Watch(2), slots=2)["seen"] == "0"


@pytest.mark.parametrize("name", ["inline", "local with objects"])
def test_live_objects_reach_the_workers(name):
    assert launch(ENGINES[name](), "finish", Watch(2), slots=2)["answer"] == 42


def test_a_killed_worker_is_followed_by_a_new_view_in_which_all_are_in_step_again(process_engine, capsys):
    watch = Watch(4, kill(view=1, rank=2))
    result = launch(process_engine, "stay", watch, payload={"finish_in_view": 2})
    assert result["view"] == 2
    assert {each.seat for each in watch.of(2)} == {0, 1, 2, 3}
    assert watch.values("restarted")[0]["reason"] == "worker 2 of 4 was killed by SIGKILL"
    took_s = watch.complete_s[2] - watch.complete_s[1]
    with capsys.disabled():
        print(f"\n  killed worker -> all 4 in step again: {took_s:.3f} s")
    assert took_s < 3.0


def test_three_kills_are_survived_and_the_fourth_is_one_too_many():
    def kill_always(watch, view):
        os.kill(watch.pid(view, view % 4), signal.SIGKILL)

    watch = Watch(4, kill_always)
    with pytest.raises(WorkersLost, match="worker 0 of 4 was killed by SIGKILL, and no restarts are left"):
        launch(LocalEngine(), "stay", watch)
    assert [each["left"] for each in watch.values("restarted")] == [2, 1, 0]
    assert sorted(watch.complete_s) == [1, 2, 3, 4]


def test_a_killed_agent_is_started_anew_and_takes_its_worker_along(process_engine, capsys):
    watch = Watch(4, kill(view=1, rank=3, who="agent"))
    result = launch(process_engine, "stay", watch, payload={"finish_in_view": 2})
    assert result["view"] == 2
    assert "agent of worker 3 of 4 was lost" in watch.values("restarted")[0]["reason"]
    assert watch.pid(1, 3, "agent") != watch.pid(2, 3, "agent")
    assert watch.pid(1, 0, "agent") == watch.pid(2, 0, "agent")
    with capsys.disabled():
        print(f"\n  killed agent -> all 4 in step again: {watch.complete_s[2] - watch.complete_s[1]:.3f} s")


def test_a_mistake_in_a_worker_ends_the_run_with_that_workers_own_traceback(engine):
    watch = Watch(4)
    with pytest.raises(SeatFailed) as caught:
        launch(engine, "break_down", watch)
    assert caught.value.seat == 1
    assert "user's code: ZeroDivisionError: a mistake in the model" in caught.value.cause
    assert "launch_world.py:" in caught.value.cause
    assert caught.value.trace.splitlines()[-1] == "ZeroDivisionError: a mistake in the model"
    assert "restarted" not in watch.kinds()


def test_who_ends_without_a_word_is_replaced():
    watch = Watch(2)
    patience = Patience(settle_s=0.2)
    result = launch(LocalEngine(), "go_silently", watch, slots=2, payload={"finish_in_view": 2}, patience=patience)
    assert result["view"] == 2
    assert "ended with exit code 0 without a word" in watch.values("restarted")[0]["reason"]


def test_a_stopped_worker_is_noticed_by_its_silence_and_replaced():
    watch = Watch(2, kill(view=1, rank=1, number=signal.SIGSTOP))
    patience = Patience(silence_s=3.0)
    result = launch(LocalEngine(), "stay", watch, slots=2, payload={"finish_in_view": 2}, patience=patience)
    assert result["view"] == 2
    assert watch.values("restarted")[0]["reason"] == "worker 1 of 2 has been silent for 3 s"


def test_a_stopped_agent_is_noticed_by_its_silence_and_replaced():
    watch = Watch(2, kill(view=1, rank=1, who="agent", number=signal.SIGSTOP))
    patience = Patience(silence_s=3.0)
    result = launch(LocalEngine(), "stay", watch, slots=2, payload={"finish_in_view": 2}, patience=patience)
    assert result["view"] == 2
    assert "agent of worker 1 of 2 was lost: silent for 3 s" in watch.values("restarted")[0]["reason"]


def test_asked_once_to_stop_the_workers_leave_by_themselves(engine):
    watch = Watch(4, lambda watch, view: watch.coordinator.interrupt("Ctrl-C"))
    result = launch(engine, "stay", watch)
    assert result["stopped"] == "Ctrl-C"
    assert watch.values("stopping") == [{"reason": "Ctrl-C", "save": True}]


def test_asked_twice_to_stop_everything_ends_at_once(process_engine):
    def insist(watch, view):
        watch.coordinator.interrupt("Ctrl-C")
        watch.coordinator.interrupt("Ctrl-C")

    with pytest.raises(Interrupted):
        launch(process_engine, "stubborn", Watch(4, insist))


def test_a_log_takes_what_a_worker_writes_and_its_traceback(tmp_path, capfd):
    log = tmp_path / "logs" / "seats.log"
    with pytest.raises(SeatFailed):
        launch(LocalEngine(), "break_down", Watch(4), log=str(log))
    assert "ZeroDivisionError" in log.read_text()
    assert "ZeroDivisionError" not in capfd.readouterr().err


def test_a_killed_coordinator_takes_agents_and_workers_along(tmp_path):
    script = tmp_path / "coordinate.py"
    script.write_text(
        "from launch_world import Watch, launch\n"
        "from stretto.launch.local import LocalEngine\n"
        "show = lambda watch, view: print(*watch.pids(), flush=True)\n"
        "launch(LocalEngine(), 'stubborn', Watch(4, show))\n"
    )
    tests = str(Path(launch_world.__file__).parent)
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": tests}) as run:
        pids = [int(word) for word in run.stdout.readline().split()]
        assert len(pids) == 8
        run.kill()
    assert wait_until(lambda: not any(is_alive(pid) for pid in pids), 3.0)


def test_a_run_in_a_thread_can_be_interrupted_from_outside(engine):
    watch = Watch(2)
    results = []
    thread = threading.Thread(target=lambda: results.append(launch(engine, "stay", watch, slots=2)))
    thread.start()
    assert wait_until(lambda: 1 in watch.complete_s, 20.0)
    watch.coordinator.interrupt("enough")
    thread.join(10.0)
    assert results[0]["stopped"] == "enough"


def test_objects_of_a_process_that_has_computed_with_threads_can_be_computed_with(tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(
        "import torch\n"
        "from launch_world import Watch, launch\n"
        "from stretto.launch.local import LocalEngine\n"
        "torch.set_num_threads(2)\n"
        "matrix = torch.zeros(1000, 1000, requires_grad=True)\n"
        "(matrix @ torch.ones(1000, 1000)).exp().sum().backward()\n"
        "print(launch(LocalEngine(objects={'matrix': matrix}), 'compute', Watch(2), slots=2))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    environment["PYTHONPATH"] = str(Path(launch_world.__file__).parent)
    run = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=50)
    assert run.stdout.strip() == "{'shape': [1000, 1000]}", run.stderr


def test_the_rendezvous_store_says_what_torchs_own_says():
    said = launch(InlineEngine(), "use_store", Watch(1), slots=1)
    assert said["ours"] == said["theirs"]


def test_process_groups_meet_in_the_coordinators_store_again_after_a_kill(capsys):
    watch = Watch(2, kill(view=1, rank=1))
    result = launch(LocalEngine(), "all_reduce", watch, slots=2, preload=TORCH)
    assert result == {"total": 2.0, "view": 2}
    with capsys.disabled():
        took_s = watch.complete_s[2] - watch.complete_s[1]
        print(f"\n  killed worker -> first all-reduce of the new view: {took_s:.3f} s")
    assert took_s < 3.0
