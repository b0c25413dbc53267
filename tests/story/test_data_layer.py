"""Sampling nodes, ledgers and damaged data as a person meets them, with real processes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from data_world import Numbers, encoded, tar_bytes
from story_world import (
    CommandLine,
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

from stretto.checkpoint.ledger_file import read_ledger
from stretto.data.audit import audit
from stretto.data.batch import Batch
from stretto.data.damage import Damage, whole_or_raise
from stretto.job import job_from
from stretto.run.equipment import open_data

TORN = Damage(sample=3, file="a.tar", offset=512, reason="no JPEG")

JOB = """
model: {name: mlp, width: 8, depth: 1}
data:
  name: arrays
  inputs: inputs.npy
  targets: targets.npy
  validation_inputs: inputs.npy
  validation_targets: targets.npy
task: classification
training: {batch: 20, until: 2ep}
cluster: {workers: 2, threads: 1, samplers: 2}
callbacks: ["held:Held"]
"""


@pytest.fixture
def tell(capsys) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """The working folder, with a job and its data."""
    monkeypatch.chdir(tmp_path)
    write_job(tmp_path, JOB)
    np.save(tmp_path / "inputs.npy", np.random.default_rng(0).random((400, 4), dtype=np.float32))
    np.save(tmp_path / "targets.npy", np.arange(400) % 3)
    return tmp_path


def test_with_sampling_nodes_the_result_is_the_same_to_the_bit(tmp_path):
    expected = undisturbed(tmp_path / "expected" if (tmp_path / "expected").mkdir() is None else tmp_path)
    write_job(tmp_path)
    with begun(tmp_path, "train", "job.yaml", "run.name=served", "cluster.samplers=2") as command:
        assert command.wait() == 0, command.err
    assert_same_bits(tmp_path / "runs" / "served", expected)


def test_workers_with_sampling_nodes_open_no_data_file(here):
    hold(here, 15)
    with begun(here, "train", "job.yaml", "run.name=served") as command:
        command.until(lambda: is_held(here, 15))
        opened = {seat(pid): files_of(pid) & {"inputs.npy", "targets.npy"} for pid in command.workers()}
        release(here, 15)
        assert command.wait() == 0, command.err
    assert opened == {
        "seat-0": set(),
        "seat-1": set(),
        "seat-2": {"inputs.npy", "targets.npy"},
        "seat-3": {"inputs.npy", "targets.npy"},
    }


def seat(pid: int) -> str:
    return Path(f"/proc/{pid}/fd/1").readlink().stem


def files_of(pid: int) -> set[str]:
    """The names of all files that a process has open or mapped."""
    mapped = {line.rpartition("/")[2] for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "/" in line}
    links = [link for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    return mapped | {os.readlink(link).rpartition("/")[2] for link in links}  # noqa: PTH115 (sockets are no paths)


def test_the_ledger_tells_who_used_what(here, tell):
    told = tell("train", "job.yaml", "run.name=first", "callbacks=[]", "engine=inline")
    assert told.code == 0, told.err
    assert tell("ledger", "runs/first").lines == ["epochs 0 to 1: 400 of 400, each once; worker 0: 200, worker 1: 200"]
    answer = tell("ledger", "runs/first", "--json").json()
    assert answer["epochs"][0] == {
        "epoch": 0, "samples": 400, "used": 400, "by_seat": {"0": 200, "1": 200},
        "missing": [], "doubled": [], "beyond": [],
    }  # fmt: skip


def test_a_ledger_that_does_not_add_up_is_an_error(here, tell):
    import sqlite3

    assert tell("train", "job.yaml", "run.name=first", "callbacks=[]", "engine=inline").code == 0
    with sqlite3.connect(here / "runs" / "first" / "ledger.sqlite") as file:
        file.execute("DELETE FROM used WHERE seat = 1 AND epoch = 1")
    file.close()
    told = tell("ledger", "runs/first")
    assert told.code == 1
    assert told.lines[1] == "epoch 1: 200 of 400, NOT each once; worker 0: 200"
    assert "epoch 1: places 10 to 20 were never used" in told.lines


def test_a_run_without_a_ledger_is_told(here, tell):
    assert tell("train", "job.yaml", "run.name=first", "callbacks=[]", "engine=inline").code == 0
    (here / "runs" / "first" / "ledger.sqlite").unlink()
    told = tell("ledger", "runs/first")
    assert (told.code, "ledger.sqlite does not exist" in told.err) == (5, True)


def test_an_interrupted_run_goes_on_with_another_number_of_workers_and_samplers(here):
    hold(here, 7)
    with begun(here, "train", "job.yaml", "run.name=first") as command:
        command.until(lambda: is_held(here, 7))
        command.process.send_signal(signal.SIGTERM)
        command.until(lambda: "stopping" in kinds(here / "runs" / "first"))
        release(here, 7)
        assert command.wait() == 0, command.err
    with begun(here, "resume", "runs/first", "cluster.workers=3", "cluster.samplers=0") as command:
        assert command.wait() == 0, command.err
    noted = read_ledger(here / "runs" / "first" / "ledger.sqlite")
    assert [epoch.complete for epoch in audit(noted)] == [True, True]
    assert {seat for seat, _ in noted.uses} == {0, 1, 2}


@pytest.mark.parametrize("samplers", [0, 1])
def test_damaged_samples_are_named_and_left_out_or_end_the_run_as_the_job_says(here, tell, samplers):
    members = []
    for number in range(60):
        picture = b"no picture" if number == 17 else encoded(np.full((8, 8), number * 4))
        members += [(f"{number:04d}.png", picture), (f"{number:04d}.cls", str(number % 2).encode())]
    (here / "a.tar").write_bytes(tar_bytes(members))
    data = "data={name: tar, shards: a.tar, validation_shards: a.tar, size: 8, channels: 1}"
    common = ("engine=inline", "callbacks=[]", data, f"cluster.samplers={samplers}", "training.until=1ep")
    told = tell("train", "job.yaml", "run.name=strict", *common)
    assert told.code == 2
    assert "a.tar at offset" in told.err and "say loading.damaged: skip" in told.err
    assert tell("train", "job.yaml", "run.name=lenient", *common, "loading.damaged=skip").code == 0
    damaged = events(here / "runs" / "lenient", "sample_damaged")
    assert {(event.values["sample"], event.values["part"]) for event in damaged} == {
        (17, "training"),
        (17, "validation"),
    }
    lines = tell("ledger", "runs/lenient").lines
    assert lines[0].startswith("epoch 0: 60 of 60, each once")
    assert lines[1] == "left out because of damage: 1 sample"
    assert "a.tar at offset" in lines[2]


def test_what_is_left_of_a_damaged_batch_to_validate_with_is_normalised_like_the_others():
    class Torn(Numbers):
        def read(self, indices):
            whole = super().read(indices)
            pictures = Batch(whole.inputs.float().view(-1, 1, 1, 2), whole.targets, whole.indices)
            torn = {place: TORN for place, index in enumerate(indices) if index == TORN.sample}
            return whole_or_raise(pictures, torn)

    loading = {"damaged": "skip", "transform": [{"name": "normalise", "mean": 4, "deviation": 2}]}
    job = job_from({"model": "linear", "data": "digits", "task": "regression", "loading": loading})
    reported = []
    _, validation = open_data(job, {"data": (Torn(9), Torn(9))}, reported.append)
    assert validation.read([2, 3, 4]).inputs[:, 0, 0, 0].tolist() == [-1, 0]
    assert [(event.kind, event.values["part"]) for event in reported] == [("sample_damaged", "validation")]


def test_a_sampling_node_that_cannot_open_the_data_ends_the_run_in_its_words(here, tell):
    told = tell("train", "job.yaml", "data.inputs=nowhere.npy", "engine=inline", "callbacks=[]")
    assert told.code == 2
    assert "nowhere.npy does not exist; data arrays needs a .npy file" in told.err
    assert "sampler" in told.err


def test_orders_and_transforms_of_the_job_are_used(here, tell):
    (here / "zeroing.py").write_text(
        "class Zero:\n    '''Learn from nothing.'''\n    def apply(self, inputs, draws):\n        return inputs * 0\n"
    )
    changes = (
        "loading.transform=[zeroing:Zero]",
        "loading.order={name: class_balanced, draws: 30}",
        "training.until=1ep",
    )
    told = tell("train", "job.yaml", "--json", "engine=inline", "callbacks=[]", "run.name=zero", *changes)
    assert told.code == 0, told.err
    assert json.loads(told.out)["samples"] == 30


def test_an_order_that_learns_is_refused_without_a_sampling_node_before_anything_starts(here, tell):
    told = tell("check", "job.yaml", "loading.order=importance", "cluster.samplers=0")
    assert told.code == 2
    assert "add cluster.samplers: 1" in told.err


def test_hard_samples_are_learned_from_more_often(here, tell):
    changes = ("loading.order=importance", "cluster.samplers=1", "training.until=30step", "engine=local")
    with begun(here, "train", "job.yaml", "run.name=hard", *changes) as command:
        assert command.wait() == 0, command.err
    assert final_tensors(here / "runs" / "hard")["step"] == 30


def test_another_order_for_the_rest_of_an_epoch_is_warned_of(here, tell):
    common = ("engine=inline", "callbacks=[]")
    assert tell("train", "job.yaml", "run.name=first", "training.until=25step", *common).code == 0
    told = tell("resume", "runs/first", "training.until=40step", "training.seed=1", *common)
    assert told.code == 0
    assert "training.seed changed, so the rest of the present epoch comes in another order" in told.err
    again = tell("resume", "runs/first", "training.until=45step", *common)
    assert "another order" not in again.err


def test_what_is_said_of_loading_is_told_before_anything_starts(here, tell):
    changes = (
        "loading.order=class_balanced",
        "loading.transform=[flip, {name: crop, padding: 2}]",
        "loading.damaged=skip",
    )
    told = tell("check", "job.yaml", *changes, "cluster.shares=measured")
    order, transforms = "order class_balanced", "flip then crop (padding 2)"
    assert f"batches: {order}; {transforms}; damaged samples are left out; shares by measured speed" in told.lines


def test_an_own_order_that_learns_is_refused_where_it_would_hear_one_worker_only(here, tell):
    (here / "learning_order.py").write_text(
        "from stretto.data.orders.importance import Importance\n\n\nclass Mine(Importance):\n    '''My own.'''\n"
    )
    changes = ("loading.order=learning_order:Mine", "cluster.samplers=0", "engine=inline", "callbacks=[]")
    told = tell("train", "job.yaml", *changes)
    assert told.code == 2
    assert "add cluster.samplers: 1" in told.err
