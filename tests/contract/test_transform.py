"""What every transform promises, whatever it does to the pictures."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stretto.data import TRANSFORMS
from stretto.data.draws import Draws
from stretto.data.transform import load_transforms
from stretto.errors import DataError
from stretto.job import Choice

CHOICES = {
    "flip": Choice("flip"),
    "crop": Choice("crop", {"padding": 2}),
    "erase": Choice("erase", {"size": 3}),
    "normalise": Choice("normalise", {"mean": [1, 2, 3], "deviation": 2}),
    "one's own": Choice(f"{__name__}:Brighter", {"by": 0.5}),
}
EACH = pytest.mark.parametrize("choices", [[each] for each in CHOICES.values()] + [list(CHOICES.values())], ids=str)
OURS = [choice for choice in CHOICES.values() if choice.name in TRANSFORMS]


class Brighter:
    def __init__(self, by):
        self.by = by

    def apply(self, inputs, draws):
        return inputs.float() + torch.from_numpy(self.by * draws.uniform()).float()[:, None, None, None]


def pictures(count=12, dtype=torch.float32, channels=3):
    numbers = torch.from_numpy(np.random.default_rng(0).integers(1, 256, (count, channels, 6, 8)))
    return numbers.to(dtype)


def changed(choices, inputs, start=0, epoch=1, seed=0):
    draws = Draws(seed, epoch, np.arange(start, start + len(inputs)))
    for transform in load_transforms(choices):
        inputs = transform.apply(inputs, draws)
    return inputs


def test_every_transform_of_ours_is_tried():
    assert {choice.name for choice in CHOICES.values()} >= set(TRANSFORMS)


@EACH
@given(cut=st.integers(0, 12), start=st.integers(0, 2**40))
def test_a_picture_becomes_the_same_however_its_batch_is_cut(choices, cut, start):
    whole = changed(choices, pictures(), start)
    parts = changed(choices, pictures()[:cut], start), changed(choices, pictures()[cut:], start + cut)
    assert torch.equal(torch.cat(parts), whole)


@EACH
def test_after_a_resume_it_is_the_same_and_in_another_epoch_another(choices):
    assert torch.equal(changed(choices, pictures()), changed(choices, pictures()))
    other = changed(choices, pictures(), epoch=2)
    assert torch.equal(other, changed(choices, pictures())) == (choices == [CHOICES["normalise"]])


@EACH
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.float64], ids=str)
def test_bytes_and_floats_of_any_size_are_pictures(choices, dtype):
    assert changed(choices, pictures(dtype=dtype)).shape == (12, 3, 6, 8)
    assert changed(choices, pictures(count=0, dtype=dtype)).shape == (0, 3, 6, 8)


@pytest.mark.parametrize("choice", OURS, ids=str)
@pytest.mark.parametrize(
    "inputs, words",
    [
        (torch.zeros(2, 5), r"the inputs are torch\.float32 of shape \(2, 5\); leave it out of loading\.transform"),
        (torch.zeros(2, 3, 4, 4, dtype=torch.int64), r"the inputs are torch\.int64 of shape \(2, 3, 4, 4\)"),
        ({"image": torch.zeros(2, 3, 4, 4)}, "the inputs are dict"),
    ],
    ids=["rows", "whole numbers", "dict"],
)
def test_what_is_no_picture_is_refused_with_what_is_needed(choice, inputs, words):
    (transform,) = load_transforms([choice])
    with pytest.raises(DataError, match=rf"{choice.name} changes pictures, uint8 or float tensors .*{words}"):
        transform.apply(inputs, Draws(0, 0, np.arange(2)))


@pytest.mark.parametrize(
    "choice, words",
    [
        (Choice("flipp"), r'loading\.transform "flipp" is unknown; .*did you mean "flip"'),
        (Choice("erase"), r"loading\.transform erase needs size"),
        (Choice("flip", {"chance": 1.5}), r"1\.5 is no probability; give a chance from 0 to 1"),
        (Choice("crop", {"padding": 0}), "a padding of 0 shifts nothing"),
        (Choice("erase", {"size": 0}), "a square of 0 pixels erases nothing"),
        (Choice("normalise", {"mean": 0, "deviation": [1, 0]}), r"deviation \[1, 0\]; give finite numbers"),
        (Choice("normalise", {"mean": "grey", "deviation": 1}), r"loading\.transform normalise cannot use"),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_said_in_the_jobs_words(choice, words):
    with pytest.raises(DataError, match=words):
        load_transforms([choice])
