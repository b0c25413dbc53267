"""A disk that lies: flipped bits, cut files and missing ones are noticed, named, and stepped back from."""

import json
import random
import shutil

import pytest
from checkpoint_world import equal, small_state

from stretto.checkpoint.folder import FolderStore
from stretto.errors import CheckpointError


@pytest.fixture
def store(tmp_path):
    store = FolderStore(tmp_path / "checkpoints")
    for step in (1100, 1200):
        shards = [store.write_shard(step, seat, small_state(step, seat)) for seat in (0, 1)]
        store.commit(step, shards, {"epoch": step // 100, "best": float("nan")})
    return store


def newest_files(store):
    return sorted((store.root / "step-00001200").iterdir())


def expected_name(store, file, position):
    """What must be named when the byte at this position of a file is bad."""
    if file.name == "manifest.json":
        return "manifest.json"
    manifest = json.loads((store.root / "step-00001200" / "manifest.json").read_bytes())
    shard = next(each for each in manifest["shards"] if each["file"] == file.name)
    offset = shard["header_bytes"]
    if position < offset:
        return f"header of {file.name}"
    for name, _, _, size, _ in shard["tensors"]:
        if position < offset + size:
            return f"tensor {name} in {file.name}"
        offset += size
    raise AssertionError("every byte belongs to the header or to a tensor")


def check_steps_back(store, *words):
    loaded = store.load()
    assert loaded.step == 1100
    assert all(equal(loaded.states[seat], small_state(1100, seat)) for seat in (0, 1))
    (damage,) = loaded.damages
    assert damage.startswith("step 1200 is damaged: ")
    assert damage.endswith("; going back to step 1100")
    assert all(word in damage for word in words), damage


def test_a_thousand_flipped_bits_are_all_noticed_and_named(store):
    chance = random.Random(11)
    files = newest_files(store)
    sizes = [file.stat().st_size for file in files]
    for _ in range(1000):
        file = chance.choices(files, weights=sizes)[0]
        good = file.read_bytes()
        position = chance.randrange(len(good))
        bad = bytearray(good)
        bad[position] ^= 1 << chance.randrange(8)
        expected = expected_name(store, file, position)
        file.write_bytes(bad)
        check_steps_back(store, expected)
        file.write_bytes(good)
    assert not store.load().damages


def test_every_length_to_which_a_file_can_be_cut_is_noticed_and_named(store):
    for file in newest_files(store):
        good = file.read_bytes()
        for length in range(len(good)):
            file.write_bytes(good[:length])
            check_steps_back(store, file.name)
        file.write_bytes(good + b"\0")
        check_steps_back(store, file.name)
        file.write_bytes(good)
    assert not store.load().damages


def test_the_damage_is_told_in_the_words_of_the_run(store):
    file = store.root / "step-00001200" / "seat-00000.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert store.load().damages == (
        "step 1200 is damaged: tensor rng in seat-00000.safetensors does not match its digest; going back to step 1100",
    )


def test_several_bad_tensors_in_several_files_are_all_named(store):
    for seat in (0, 1):
        file = store.root / "step-00001200" / f"seat-0000{seat}.safetensors"
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        content[-6] ^= 1
        file.write_bytes(content)
    words = [f"tensor {name} in seat-0000{seat}" for seat in (0, 1) for name in ("rng", "model/weight")]
    check_steps_back(store, *words)


@pytest.mark.parametrize("name", ["manifest.json", "seat-00001.safetensors"])
def test_a_missing_file_is_named(store, name):
    (store.root / "step-00001200" / name).unlink()
    check_steps_back(store, f"{name} is missing")


def test_a_folder_in_the_place_of_a_file_is_named(store):
    file = store.root / "step-00001200" / "seat-00001.safetensors"
    file.unlink()
    file.mkdir()
    check_steps_back(store, "seat-00001.safetensors cannot be read")


def test_a_shard_of_another_step_is_not_taken_for_this_one(store):
    shutil.copy(store.root / "step-00001100" / "seat-00001.safetensors", store.root / "step-00001200")
    check_steps_back(store, "header of seat-00001.safetensors", "tensor model/weight")


def test_a_folder_under_the_name_of_another_step_is_noticed(store):
    shutil.rmtree(store.root / "step-00001200")
    shutil.copytree(store.root / "step-00001100", store.root / "step-00001200")
    check_steps_back(store, "manifest.json is that of step 1100")


def test_when_nothing_is_usable_everything_found_is_told(store):
    for step in (1100, 1200):
        (store.root / f"step-{step:08d}" / "manifest.json").unlink()
    found = "step 1200 is damaged: manifest.json is missing; going back to step 1100; step 1100 is damaged: "
    with pytest.raises(CheckpointError, match=f"no usable checkpoint in .*checkpoints: {found}"):
        store.load()


def test_a_step_asked_for_by_number_is_not_silently_replaced_by_another(store):
    (store.root / "step-00001200" / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"no usable checkpoint of step 1200 .*manifest.json is missing"):
        store.load(1200)
    assert store.load(1100).step == 1100
    with pytest.raises(CheckpointError, match=r"no usable checkpoint of step 7 in .*: steps there: 1100, 1200"):
        store.load(7)
