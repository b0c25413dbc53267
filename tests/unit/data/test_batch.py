"""A batch holds samples in any nesting, and can be cut and moved."""

from collections import namedtuple

import torch

from stretto.data.batch import Batch

Pair = namedtuple("Pair", "left right")


def nested():
    rows = torch.arange(10)
    inputs = {"image": rows.view(5, 2), "more": (rows[:5], [rows[5:]]), "pair": Pair(rows[:5], rows[:5]), "none": None}
    return Batch(inputs, rows[:5], rows[5:])


def test_its_length_is_the_number_of_samples():
    assert len(nested()) == 5


def test_a_slice_cuts_every_tensor_and_keeps_the_nesting():
    part = nested().slice(1, 3)
    assert len(part) == 2
    assert part.inputs["image"].tolist() == [[2, 3], [4, 5]]
    assert part.inputs["more"][1][0].tolist() == [6, 7]
    assert isinstance(part.inputs["pair"], Pair)
    assert part.inputs["none"] is None
    assert part.indices.tolist() == [6, 7]


def test_slices_put_together_are_the_batch():
    batch = nested()
    assert torch.equal(torch.cat([batch.slice(0, 2).targets, batch.slice(2, 9).targets]), batch.targets)


def test_an_empty_slice_keeps_the_shapes():
    assert nested().slice(0, 0).inputs["image"].shape == (0, 2)


def test_a_batch_that_is_on_its_device_is_not_copied():
    batch = nested()
    assert batch.to("cpu").targets.data_ptr() == batch.targets.data_ptr()


def test_inputs_and_targets_move_to_the_device_and_the_numbers_stay():
    moved = nested().to("meta")
    assert moved.inputs["more"][1][0].device.type == "meta"
    assert moved.indices.device.type == "cpu"
