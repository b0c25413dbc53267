"""Every store keeps the same promises."""

import pytest
import torch
from checkpoint_world import equal, small_state

from stretto.checkpoint.folder import FolderStore
from stretto.checkpoint.memory import MemoryStore
from stretto.errors import CheckpointError

STORES = {
    "folder": lambda folder: FolderStore(folder / "checkpoints"),
    "memory": lambda folder: MemoryStore(),
}


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    return STORES[request.param](tmp_path)


def save(store, step, number=None):
    number = step if number is None else number
    shards = [store.write_shard(step, seat, small_state(number, seat)) for seat in (0, 1)]
    store.commit(step, shards, {"number": number, "shape": (1, float("inf"))})


def test_the_table_names_exactly_the_stores_tested_here():
    from stretto.checkpoint import STORES as TABLE

    assert TABLE.keys() == STORES.keys()


def test_a_new_store_is_empty_and_says_so(store):
    assert store.steps() == []
    with pytest.raises(CheckpointError, match=r"no usable checkpoint in .*: steps there: none"):
        store.load()


def test_what_was_committed_is_loaded_exactly(store):
    save(store, 120)
    loaded = store.load()
    assert loaded.step == 120
    assert equal(loaded.states, {seat: small_state(120, seat) for seat in (0, 1)})
    assert loaded.values == {"number": 120, "shape": (1, float("inf"))}
    assert loaded.damages == ()


def test_what_was_written_and_not_committed_does_not_exist(store):
    store.write_shard(120, 0, small_state(1))
    assert store.steps() == []
    with pytest.raises(CheckpointError):
        store.load()


def test_the_newest_is_loaded_and_any_other_by_its_step(store):
    for step in (30, 10, 20):
        save(store, step)
    assert store.steps() == [10, 20, 30]
    assert store.load().step == 30
    assert equal(store.load(10).states[1], small_state(10, 1))
    with pytest.raises(CheckpointError, match=r"no usable checkpoint of step 11 in .*: steps there: 10, 20, 30"):
        store.load(11)


def test_what_is_loaded_is_a_copy_of_its_own(store):
    save(store, 1)
    store.load().states[0]["model"]["weight"].zero_()
    assert equal(store.load().states[0], small_state(1))


def test_what_changes_after_it_was_written_does_not_change_the_checkpoint(store):
    state = small_state(1)
    shard = store.write_shard(1, 0, state)
    state["model"]["weight"].zero_()
    store.commit(1, [shard], None)
    assert equal(store.load().states[0], small_state(1))


def test_saving_a_step_again_replaces_it(store):
    save(store, 5, number=1)
    save(store, 5, number=2)
    assert store.steps() == [5]
    assert store.load().values["number"] == 2


def test_a_discarded_save_is_gone_and_the_committed_one_of_its_step_stays(store):
    save(store, 5, number=1)
    shard = store.write_shard(5, 0, small_state(2))
    store.discard(5)
    assert store.load().values["number"] == 1
    with pytest.raises(CheckpointError):
        store.commit(5, [shard], None)
    store.discard(99)


def test_a_deleted_step_is_gone_and_deleting_it_again_does_nothing(store):
    save(store, 1)
    save(store, 2)
    store.delete(2)
    store.delete(2)
    assert store.steps() == [1]
    assert store.load().step == 1


def test_cleaning_removes_what_is_half_done_and_nothing_else(store):
    save(store, 1)
    shard = store.write_shard(2, 0, small_state(2))
    store.clean()
    assert store.steps() == [1]
    with pytest.raises(CheckpointError):
        store.commit(2, [shard], None)


def test_a_set_without_shards_or_with_tensors_among_its_values_is_refused(store):
    with pytest.raises(CheckpointError, match=r"step 3"):
        store.commit(3, [], None)
    shard = store.write_shard(3, 0, small_state(3))
    with pytest.raises(CheckpointError, match=r"values of a checkpoint hold tensors \(loss\)"):
        store.commit(3, [shard], {"loss": torch.zeros(1)})
    assert store.steps() == []


def test_what_a_checkpoint_cannot_hold_is_refused_before_anything_is_written(store):
    with pytest.raises(CheckpointError, match=r'"hook" is of type builtins.function'):
        store.write_shard(1, 0, {"hook": save})
    assert store.steps() == []
