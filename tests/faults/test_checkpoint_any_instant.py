"""A save stopped at any instant whatsoever: what can be loaded afterwards is the old state or the new one, whole."""

import errno
import random

import pytest
from checkpoint_world import SimulatedDisk, broken_at, equal, full_after, small_state

from stretto.checkpoint.folder import FolderStore
from stretto.errors import CheckpointError


def save(store, step, number=None):
    number = step if number is None else number
    shards = [store.write_shard(step, seat, small_state(number, seat)) for seat in (0, 1)]
    store.commit(step, shards, {"number": number})


def loaded_number(disk):
    """The number of the state that loads; fails when any that is there is not whole, or mixed of two."""
    store = FolderStore("run", disk)
    for step in store.steps():
        store.load(step)
    loaded = store.load()
    number = loaded.values["number"]
    assert loaded.states.keys() == {0, 1}
    assert all(equal(state, small_state(number, seat)) for seat, state in loaded.states.items())
    assert not loaded.damages
    return number


def disk_with_step_one():
    disk = SimulatedDisk()
    save(FolderStore("run", disk), 1)
    return disk.after_power_cut()


class Instants:
    """Loads at every instant, as after a kill and as after power cuts, and counts the instants."""

    def __init__(self, disk, old, new):
        self.disk, self.old, self.new = disk, old, new
        self.count = 0
        self.returned = False
        self.chance = random.Random(7)
        disk.at_instant = self.check

    def check(self):
        self.count += 1
        cuts = [self.disk.after_power_cut(), *(self.disk.after_power_cut(self.chance) for _ in range(2))]
        for survivor in [self.disk.after_kill(), *cuts]:
            number = loaded_number(survivor)
            assert number == self.new if self.returned else number in (self.old, self.new)
            if self.count % 16 == 0:
                self.check_going_on(survivor, number)

    def check_going_on(self, survivor, number):
        """The next run tidies up, finds the same state, saves the same step again, and leaves nothing lying about."""
        store = FolderStore("run", survivor)
        store.clean()
        assert loaded_number(survivor) == number
        save(store, 2, number=5)
        assert loaded_number(survivor) == 5
        assert not [name for name in survivor.names(store.root) if "." in name]


def test_a_save_and_the_deletion_of_the_old_one_can_be_stopped_at_every_byte_and_every_call():
    disk = disk_with_step_one()
    instants = Instants(disk, old=1, new=2)
    store = FolderStore("run", disk)
    save(store, 2)
    instants.returned = True
    store.delete(1)
    instants.check()
    assert store.steps() == [2]
    assert instants.count > 1500


def test_saving_a_step_that_exists_never_loses_it_before_the_new_one_is_good():
    disk = SimulatedDisk()
    save(FolderStore("run", disk), 2, number=1)
    instants = Instants(disk := disk.after_power_cut(), old=1, new=2)
    save(FolderStore("run", disk), 2)
    instants.returned = True
    instants.check()
    assert instants.count > 1500
    assert [name for name in disk.files() if name.count("/") == 1] == ["run/step-00000002"]


def test_a_disk_that_is_full_after_any_byte_leaves_the_last_good_one_and_no_litter():
    needed = 0

    def count(operation, size):
        nonlocal needed
        needed += size

    disk = disk_with_step_one()
    disk.refuse = count
    save(FolderStore("run", disk), 2)
    for room in range(needed):
        disk = disk_with_step_one()
        disk.refuse = full_after(room)
        store = FolderStore("run", disk)
        with pytest.raises(CheckpointError, match=r"No space left on device \([\d,]+ bytes needed, 17 free in run\)"):
            save(store, 2)
        assert loaded_number(disk) == 1
        half_written = ("manifest.json", "seat-00001.safetensors")
        assert not [name for name in disk.files() if ".tmp/" in name and name.endswith(half_written)]
        disk.refuse = lambda operation, size: None
        save(store, 2)
        assert loaded_number(disk) == 2


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_any_call_that_the_disk_refuses_once_leaves_a_good_state_and_the_next_save_works(code):
    refused = 0
    for number in range(200):
        disk = disk_with_step_one()
        disk.refuse = broken_at(number, code)
        store = FolderStore("run", disk)
        try:
            save(store, 2)
            store.delete(1)
        except CheckpointError as error:
            refused += 1
            assert "; free some space" in str(error)
        disk.refuse = lambda operation, size: None
        assert loaded_number(disk) in (1, 2)
        save(store, 3)
        assert loaded_number(disk) == 3
        store.clean()
        assert not [name for name in disk.names(store.root) if "." in name]
    assert refused > 10


def test_without_the_fsync_of_the_files_the_simulated_power_cut_would_be_noticed():
    disk = disk_with_step_one()
    disk.sync = lambda handle: None
    save(FolderStore("run", disk), 2)
    loaded = FolderStore("run", disk.after_power_cut()).load()
    assert loaded.step == 1
    assert "step 2 is damaged" in loaded.damages[0]
