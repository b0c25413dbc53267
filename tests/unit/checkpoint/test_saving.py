"""Saving while training goes on."""

import threading

import pytest
import torch
from checkpoint_world import equal, small_state

from stretto.checkpoint.buffers import Buffers
from stretto.checkpoint.memory import MemoryStore
from stretto.checkpoint.saving import Saver
from stretto.errors import CheckpointError


class GatedStore(MemoryStore):
    """A store whose disk writes only when told, and fails when told."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()
        self.fails = False

    def write_shard(self, step, seat, state):
        assert self.gate.wait(10)
        if self.fails:
            raise CheckpointError("writing failed: No space left on device")
        return super().write_shard(step, seat, state)


@pytest.fixture
def store():
    return GatedStore()


@pytest.fixture
def saver(store):
    saver = Saver(store)
    yield saver
    store.gate.set()
    saver.close()


def test_what_changes_after_begin_is_not_in_the_checkpoint(store, saver):
    state, values = small_state(1), {"history": [1]}
    saver.begin(10, 0, state, values)
    state["model"]["weight"].zero_()
    state["position"] = None
    values["history"].append(2)
    assert saver.written() == []
    store.gate.set()
    saver.wait(10)
    saver.commit(10, saver.written())
    saver.wait(10)
    assert saver.committed() == [10]
    loaded = store.load()
    assert equal(loaded.states[0], small_state(1))
    assert loaded.values == {"history": [1]}


def test_the_pause_says_what_was_copied_and_waited_for(store, saver):
    pause = saver.begin(10, 0, {"x": torch.zeros(1000)})
    assert pause.copied_bytes == 4000
    assert pause.copied_s > 0
    threading.Timer(0.05, store.gate.set).start()
    assert saver.begin(20, 0, {"x": torch.ones(1000)}).waited_s > 0.01
    saver.wait(10)
    saver.commit(10, saver.written()[:1])
    saver.wait(10)
    assert store.load().states[0]["x"].sum() == 0


def test_a_failed_save_is_told_once_at_the_next_call_and_the_next_one_goes_well(store, saver):
    store.gate.set()
    store.fails = True
    saver.begin(10, 0, small_state(1))
    with pytest.raises(CheckpointError, match=r"No space left on device"):
        saver.wait(10)
    store.fails = False
    assert saver.written() == []
    saver.begin(20, 0, small_state(2))
    saver.wait(10)
    assert [shard.step for shard in saver.written()] == [20]


def test_a_failed_commit_is_told_too(store, saver):
    store.gate.set()
    saver.commit(10, [])
    with pytest.raises(CheckpointError, match=r"step 10 cannot be committed"):
        saver.wait(10)
    assert saver.committed() == []


def test_discard_and_delete_come_in_the_order_they_were_asked_for(store, saver):
    store.gate.set()
    for step in (10, 20):
        saver.begin(step, 0, small_state(step))
        saver.wait(10)
        saver.commit(step, saver.written())
    saver.delete([10])
    saver.begin(30, 0, small_state(30))
    saver.discard(30)
    saver.wait(10)
    assert store.steps() == [20]
    saver.commit(30, saver.written())
    with pytest.raises(CheckpointError, match=r"missing seat-00000.safetensors"):
        saver.wait(10)


def test_waiting_for_a_stuck_disk_ends_with_an_error(saver):
    saver.begin(10, 0, small_state(1))
    with pytest.raises(CheckpointError, match=r"saving has not finished in 0.01 s; the disk may be stuck"):
        saver.wait(0.01)


def test_without_a_thread_everything_is_done_and_told_at_once():
    store = GatedStore()
    store.gate.set()
    saver = Saver(store, asynchronous=False)
    saver.begin(10, 0, small_state(1), {"epoch": 1})
    saver.commit(10, saver.written())
    assert saver.committed() == store.steps() == [10]
    store.fails = True
    with pytest.raises(CheckpointError, match=r"No space left"):
        saver.begin(20, 0, small_state(2))
    saver.close()


def test_closing_finishes_what_was_begun(store):
    saver = Saver(store)
    saver.begin(10, 0, small_state(1))
    threading.Timer(0.02, store.gate.set).start()
    saver.close()
    assert [shard.step for shard in saver.written()] == [10]


def test_buffers_are_the_same_memory_at_every_save_until_the_state_changes_its_shape():
    buffers = Buffers()
    state = {"x": torch.randn(3), "y": torch.zeros(0), "z": torch.tensor(True), "w": torch.randn(2, 2).t()}
    first = buffers.copy(state)
    assert equal(first, state)
    pointers = {name: each.data_ptr() for name, each in first.items()}
    state["x"] += 1
    second = buffers.copy(state)
    assert equal(second, state)
    assert {name: each.data_ptr() for name, each in second.items()} == pointers
    grown = buffers.copy({**state, "x": torch.randn(4)})
    assert grown["x"].shape == (4,)
    assert buffers.copy({}) == {}


def test_large_buffers_hold_what_is_copied():
    tensor = torch.arange(1_000_000)
    assert torch.equal(Buffers().copy({"x": tensor})["x"], tensor)
