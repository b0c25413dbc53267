"""Shared memory: a slot is held as long as anything of its block lives, and no file can be cut short under a reader."""

from __future__ import annotations

import os
import threading

import pytest
import torch
from parcel_world import descriptors, mapped_bytes

from stretto.communicate.shared_memory import Blocks, Slots, create
from stretto.errors import WireError


def adopted(slots, slot, size):
    """Have a file of the other side mapped into a slot, as a connection does."""
    blocks = Blocks()
    written = blocks.block(slot, size)
    slots.replace(slot, blocks.unsent)
    blocks.close()
    return written


def test_what_one_side_writes_the_other_reads_without_a_copy():
    slots = Slots()
    written = adopted(slots, 0, 100)
    read = slots.block(0, 100)
    written.fill_(7)
    assert read.tolist() == [7] * 100
    read[3] = 5
    assert written[3] == 5


@pytest.mark.parametrize(
    "kept",
    [
        lambda block: block,
        lambda block: block[3:5],
        lambda block: block.view(torch.int32)[1:].reshape(-1, 1).T,
        lambda block: block.numpy()[2:],
        lambda block: block.untyped_storage(),
        lambda block: memoryview(block.numpy()),
        lambda block: torch.utils.data.TensorDataset(block),
    ],
)
def test_a_slot_is_free_when_the_last_piece_of_its_block_is_forgotten(kept):
    slots = Slots()
    slot = slots.reserve()
    adopted(slots, slot, 64)
    piece = kept(slots.block(slot, 64))
    assert slots.reserve() != slot
    del piece
    assert slots.reserve() == slot


def test_a_piece_may_be_forgotten_in_any_thread():
    slots = Slots()
    slot = slots.reserve()
    adopted(slots, slot, 64)
    pieces = [slots.block(slot, 64)]
    thread = threading.Thread(target=pieces.clear)
    thread.start()
    thread.join()
    assert (slots.used, slots.reserve()) == (0, slot)


def test_a_file_is_replaced_only_when_it_becomes_too_small():
    blocks = Blocks()
    made = []
    for size in (1000, 4096, 4097, 8192, 8193, 5):
        blocks.block(3, size)
        made.append(blocks.unsent is not None)
        blocks.close()
    assert made == [True, False, True, False, True, False]


def test_memory_goes_with_those_who_hold_it():
    before = mapped_bytes(), descriptors()
    slots = Slots()
    written = adopted(slots, 0, 10**6)
    held = slots.block(0, 10**6)
    slots.forget()
    written.fill_(1)
    assert held.sum() == 10**6
    del held, written
    assert (mapped_bytes(), descriptors()) == before


def test_nobody_can_cut_the_memory_short():
    descriptor, _mapped = create(8192)
    for size in (0, 4096, 10**6):
        with pytest.raises(PermissionError):
            os.ftruncate(descriptor, size)
    os.close(descriptor)


def unsealed():
    descriptor = os.memfd_create("theirs", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 4096)
    return descriptor


def no_file_in_memory():
    return os.open("/dev/null", os.O_RDWR)


@pytest.mark.parametrize("make", [unsealed, no_file_in_memory])
def test_memory_that_could_be_cut_short_or_is_none_is_refused(make):
    descriptor = make()
    with pytest.raises(WireError, match="a parcel was refused"):
        Slots().replace(0, descriptor)
    os.close(descriptor)


@pytest.mark.parametrize("size", [0, -1, 4097, 2**70])
def test_a_block_that_its_memory_does_not_have_is_refused(size):
    slots = Slots()
    adopted(slots, 0, 4096)
    with pytest.raises(WireError, match=f"its block has {size} bytes, its memory 4096"):
        slots.block(0, size)
    with pytest.raises(WireError, match="its memory 0"):
        slots.block(1, 10)
