"""A real process killed with SIGKILL while it saves, and a real limit on what it may write."""

import errno
import json
import os
import resource
import subprocess
import sys
from contextlib import contextmanager

import pytest
import torch
from checkpoint_world import equal, small_state

from stretto.checkpoint.folder import FolderStore
from stretto.checkpoint.saving import Saver
from stretto.errors import CheckpointError

KILLS = 20

# One process loads torch once and forks a saver for each kill, so that twenty kills take seconds.
SAVE_AND_KILL = """
import json, os, random, signal, sys, time
import torch
from stretto.checkpoint.folder import FolderStore

root, kills = sys.argv[1], int(sys.argv[2])

def save_forever(first, told):
    store = FolderStore(root)
    store.clean()
    step = first
    while True:
        state = {"weight": torch.full((50_000,), float(step)), "step": step}
        store.commit(step, [store.write_shard(step, 0, state)], {"step": step})
        os.write(told, step.to_bytes(8, "little"))
        if step > 2:
            store.delete(step - 2)
        step += 1

chance, newest, outcomes = random.Random(3), 0, []
for _ in range(kills):
    listening, telling = os.pipe()
    child = os.fork()
    if not child:
        os.close(listening)
        save_forever(max(1, newest), telling)
    os.close(telling)
    os.read(listening, 8)
    time.sleep(chance.uniform(0.0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    told = os.read(listening, 1 << 20)
    os.close(listening)
    loaded = FolderStore(root).load()
    newest = loaded.step
    whole = bool((loaded.states[0]["weight"] == newest).all()) and loaded.values == {"step": newest}
    last_told = int.from_bytes(told[-8:], "little")
    outcomes.append([whole, newest >= last_told, list(loaded.damages)])
print(json.dumps(outcomes))
"""


def test_a_process_killed_while_saving_leaves_the_last_committed_state(tmp_path):
    arguments = [sys.executable, "-c", SAVE_AND_KILL, str(tmp_path / "checkpoints"), str(KILLS)]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == [[True, True, []]] * KILLS


@contextmanager
def files_of_at_most(size):
    """A limit of the system itself: a write beyond it fails as on a full disk (Python ignores the signal)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_refuses_more_is_told_at_the_next_call_and_training_goes_on(tmp_path):
    store = FolderStore(tmp_path / "checkpoints")
    saver = Saver(store)
    saver.begin(1, 0, small_state(1), values={"number": 1})
    saver.wait()
    saver.commit(1, saver.written())
    saver.wait()
    large = {"weight": torch.zeros(100_000)}
    with files_of_at_most(10_000):
        saver.begin(2, 0, large)
        reason = f"step 2 failed: {os.strerror(errno.EFBIG)} .400,\\d+ bytes needed, [\\d,]+ free"
        with pytest.raises(CheckpointError, match=reason):
            saver.wait()
    assert sorted(each.name for each in store.root.rglob("*.safetensors")) == ["seat-00000.safetensors"]
    assert equal(store.load().states[0], small_state(1))
    saver.begin(3, 0, large, values=None)
    saver.wait()
    saver.commit(3, saver.written())
    saver.close()
    assert store.steps() == [1, 3]
    assert torch.equal(store.load().states[0]["weight"], large["weight"])
