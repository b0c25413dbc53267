"""What only a folder can show: its files, several writers, and leftovers of killed runs."""

import shutil

import pytest
import torch
from checkpoint_world import equal, small_state

from stretto.checkpoint.folder import FolderStore
from stretto.errors import CheckpointError


@pytest.fixture
def store(tmp_path):
    return FolderStore(tmp_path / "run" / "checkpoints")


def save(store, step, number=None):
    number = step if number is None else number
    store.commit(step, [store.write_shard(step, 0, small_state(number))], {"number": number})


def names(store):
    return sorted(each.name for each in store.root.iterdir())


def test_a_step_is_a_folder_of_safetensors_and_a_manifest(store):
    save(store, 120)
    assert names(store) == ["step-00000120"]
    assert sorted(each.name for each in (store.root / "step-00000120").iterdir()) == [
        "manifest.json",
        "seat-00000.safetensors",
    ]


def test_each_seat_writes_through_a_store_of_its_own(store):
    others = [FolderStore(store.root) for _ in range(3)]
    shards = [other.write_shard(5, seat, small_state(5, seat)) for seat, other in enumerate(others)]
    store.commit(5, [type(shard).from_json(shard.to_json()) for shard in reversed(shards)], None)
    loaded = store.load()
    assert all(equal(loaded.states[seat], small_state(5, seat)) for seat in range(3))


def test_the_leftover_of_a_killed_run_does_not_disturb_and_is_tidied_up(store):
    for seat in range(4):
        store.write_shard(5, seat, small_state(1, seat))
    (store.root / "step-00000005.tmp" / "manifest.json").write_text("half")
    save(store, 5)
    assert equal(store.load().states, {0: small_state(5)})
    assert len(list((store.root / "step-00000005").iterdir())) == 2
    store.write_shard(6, 0, small_state(6))
    FolderStore(store.root).clean()
    assert names(store) == ["step-00000005"]


def test_a_kill_between_the_two_renames_of_a_replacement_is_healed(store):
    save(store, 5)
    (store.root / "step-00000005").rename(store.root / "step-00000005.old")
    assert store.steps() == [5]
    assert store.load().step == 5
    store.clean()
    assert names(store) == ["step-00000005"]


def test_of_two_of_one_step_the_new_one_counts(store):
    save(store, 5, number=1)
    shutil.copytree(store.root / "step-00000005", store.root / "step-00000005.old")
    save(store, 5, number=2)
    assert store.load().values == {"number": 2}
    shutil.copytree(store.root / "step-00000005", store.root / "step-00000005.old")
    store.clean()
    assert names(store) == ["step-00000005"]


def test_a_deletion_that_was_killed_leaves_nothing_that_looks_like_a_checkpoint(store):
    save(store, 5)
    (store.root / "step-00000005").rename(store.root / "step-00000005.gone")
    assert store.steps() == []
    store.clean()
    assert names(store) == []


def test_a_folder_of_somebody_else_is_left_alone(store):
    save(store, 5)
    (store.root / "notes.tmp").mkdir()
    (store.root / "step-final").mkdir()
    store.clean()
    assert names(store) == ["notes.tmp", "step-00000005", "step-final"]
    assert store.steps() == [5]


def test_a_run_can_be_moved_and_loaded_elsewhere(store, tmp_path):
    save(store, 5)
    moved = tmp_path / "elsewhere"
    store.root.rename(moved)
    assert equal(FolderStore(moved).load().states[0], small_state(5))


def test_shards_that_are_not_in_this_folder_are_not_committed(store, tmp_path):
    elsewhere = FolderStore(tmp_path / "other-disk").write_shard(5, 1, small_state(5, 1))
    here = store.write_shard(5, 0, small_state(5))
    with pytest.raises(
        CheckpointError, match=r"seat 1 wrote [\d,]+ bytes .* here are 0; .* one folder that all seats share"
    ):
        store.commit(5, [here, elsewhere], None)
    assert store.steps() == []


def test_more_than_five_digits_of_seats_and_eight_of_steps_are_only_longer_names(store):
    save(store, 1_234_567_890)
    save(store, 99)
    assert store.steps() == [99, 1_234_567_890]
    assert store.load().step == 1_234_567_890


def test_sixty_megabytes_are_verified_in_one_reading(store):
    store.commit(1, [store.write_shard(1, 0, {"x": torch.zeros(15_000_000)})], None)
    assert store.load().states[0]["x"].numel() == 15_000_000
