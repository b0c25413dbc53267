"""A model that counts: its weights say how often each sample was used, whatever was killed and however many trained."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest
import torch
from launch_world import is_alive, wait_until
from story_world import begun, events, hold, kinds, release, some_time, write_job

from stretto.checkpoint.folder import FolderStore
from stretto.checkpoint.ledger_file import read_ledger
from stretto.data.audit import audit
from stretto.data.order import Permutation, mix_seeds

SAMPLES, BATCH, EPOCHS = 6400, 16, 2

# Of sample i the gradient is -1/16 at weight i and nothing elsewhere, and the learning rate is 16: every use adds one.
COUNTED = f"""
import torch
from torch import nn
from torch.utils.data import TensorDataset


def data():
    training = TensorDataset(torch.arange({SAMPLES}), torch.zeros({SAMPLES}))
    return training, TensorDataset(torch.arange(8), torch.zeros(8))


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.uses = nn.Parameter(torch.zeros({SAMPLES}))

    def forward(self, samples):
        return self.uses[samples]


def loss(outputs, targets):
    return -outputs
"""

JOB = f"""
model: counted:Counting
data: counted:data
task: counted:loss
training: {{batch: {BATCH}, lr: {BATCH}, optimizer: SGD, until: {EPOCHS}ep}}
validation: {{every: null}}
checkpoint: {{every: 5step, keep: 2}}
cluster: {{workers: 1, samplers: 2, threads: 1, restarts: 60, shares: measured}}
callbacks: ["held:Held"]
"""
STAGES = {1: 130, 4: 260, 2: 390}  # so many workers, held at a step until they have been killed: all in the first epoch
FOLLOWING = {1: 4, 4: 2, 2: 2}
KILLS_PER_STAGE = 10


@pytest.mark.timeout(240)
def test_killed_thirty_times_and_resized_within_an_epoch_every_sample_is_used_exactly_once(tmp_path):
    chance, run = random.Random(30), tmp_path / "runs" / "counted"
    write_job(tmp_path, JOB)
    (tmp_path / "counted.py").write_text(COUNTED)
    killed = 0
    words = ("train", "job.yaml", "run.name=counted")
    for workers, limit in STAGES.items():
        hold(tmp_path, limit)
        saved = kinds(run).count("checkpoint_saved")
        with begun(tmp_path, *words) as command:
            # So that something stays of what this many workers have used, whatever the kills undo.
            command.until(lambda so_far=saved: kinds(run).count("checkpoint_saved") > so_far)
            for number in range(KILLS_PER_STAGE):
                command.until(lambda size=workers: len(command.workers()) == size + 2)
                some_time(chance.uniform(0.0, 0.5))
                launcher_too = number == KILLS_PER_STAGE - 1
                victim = command.pid if launcher_too else chance.choice(command.workers() or [command.pid])
                before = len(recoveries(run))
                os.kill(victim, signal.SIGKILL)
                killed += 1
                if victim == command.pid:
                    family = command.living()
                    command.process.wait()
                    assert wait_until(lambda pids=family: not any(map(is_alive, pids)), 10.0)
                    break
                command.until(lambda so_far=before: len(recoveries(run)) > so_far)
        release(tmp_path, limit)
        words = ("resume", str(run), f"cluster.workers={FOLLOWING[workers]}")
    assert killed == len(STAGES) * KILLS_PER_STAGE
    assert FolderStore(run / "checkpoints").steps()[-1] < SAMPLES // BATCH, (
        "the first epoch was over before the last kill"
    )
    with begun(tmp_path, *words) as command:
        assert command.wait() == 0, command.err
    uses = FolderStore(run / "checkpoints").load().states[0]["model"]["uses"]
    assert torch.equal(uses, torch.full((SAMPLES,), float(EPOCHS)))
    assert {"restarted", "replaced"} <= set(kinds(run))
    check_ledger(run)


def recoveries(run):
    return [kind for kind in kinds(run) if kind in ("restarted", "replaced")]


def check_ledger(run):
    """What the ledger says, by its own audit and counted anew from the order itself."""
    noted = read_ledger(run / "ledger.sqlite")
    assert [epoch.complete for epoch in audit(noted)] == [True] * EPOCHS
    counted = Counter()
    for _, series in noted.uses:
        order = Permutation(SAMPLES, mix_seeds(0, series.epoch))
        for number in range(series.count):
            start = series.start + number * series.stride
            counted.update((series.epoch, int(sample)) for sample in order.take(start, start + series.length))
    assert counted == Counter({(epoch, sample): 1 for epoch in range(EPOCHS) for sample in range(SAMPLES)})
    assert len({seat for seat, _ in noted.uses}) == max(STAGES), "not all workers are in the ledger"


@pytest.mark.timeout(120)
def test_a_sampler_that_stands_still_is_replaced_and_the_training_goes_on(tmp_path):
    run = tmp_path / "runs" / "still"
    write_job(tmp_path, JOB.replace("samplers: 2", "samplers: 1, silence_s: 3").replace("workers: 1", "workers: 2"))
    (tmp_path / "counted.py").write_text(COUNTED)
    with begun(tmp_path, "train", "job.yaml", "run.name=still", "training.until=1ep") as command:
        command.until(lambda: kinds(run).count("checkpoint_saved") > 2)
        (sampler,) = (pid for pid in command.workers() if seat_of(pid) == "seat-2")
        os.kill(sampler, signal.SIGSTOP)
        assert command.wait() == 0, command.err
    (replaced,) = events(run, "replaced")
    assert replaced.values["reason"] == "the agent of sampler 0 of 1 was lost: silent for 3 s"
    assert "restarted" not in kinds(run)
    assert torch.equal(FolderStore(run / "checkpoints").load().states[0]["model"]["uses"], torch.ones(SAMPLES))


def seat_of(pid):
    """Which seat a worker process has, told by the file that its output goes to."""
    return Path(f"/proc/{pid}/fd/1").readlink().stem
