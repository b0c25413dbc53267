"""Every transform does to pictures what it is for."""

import numpy as np
import pytest
import torch

from stretto.data.draws import Draws
from stretto.data.transforms.crop import Crop
from stretto.data.transforms.erase import Erase
from stretto.data.transforms.flip import Flip
from stretto.data.transforms.normalise import Normalise
from stretto.errors import DataError

COUNT = 4000


def draws(count=COUNT):
    return Draws(7, 1, np.arange(count))


def pictures(count=COUNT, height=5, width=4):
    """Pictures of which every pixel is another number above 0."""
    return torch.arange(1.0, 2 * height * width + 1).view(1, 2, height, width).repeat(count, 1, 1, 1)


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.5, 1.0])
def test_a_flip_mirrors_left_and_right_as_often_as_was_said(chance):
    original, changed = pictures(), Flip(chance).apply(pictures(), draws())
    mirrored = (changed == original.flip(3)).all(dim=(1, 2, 3))
    assert torch.equal(changed[~mirrored], original[~mirrored])
    assert mirrored.float().mean().item() == pytest.approx(chance, abs=0.03)


def test_a_crop_shifts_each_picture_within_its_padding_and_fills_with_zeros():
    padded = torch.nn.functional.pad(pictures(1), (2, 2, 2, 2))
    shifts = {
        (down, right): padded[0, :, down : down + 5, right : right + 4] for down in range(5) for right in range(5)
    }
    changed = Crop(padding=2).apply(pictures(), draws())
    counts = {shift: int((changed == expected).all(dim=(1, 2, 3)).sum()) for shift, expected in shifts.items()}
    assert sum(counts.values()) == COUNT
    assert 110 < min(counts.values()) <= max(counts.values()) < 215  # 160 of each


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_a_square_is_erased_around_any_pixel(size):
    changed = Erase(size).apply(pictures(), draws())
    erased = changed == 0
    assert torch.equal(erased[:, 0], erased[:, 1])
    assert torch.equal(changed[~erased], pictures()[~erased])
    down, right = erased[:, 0].any(dim=2).sum(dim=1), erased[:, 0].any(dim=1).sum(dim=1)
    assert torch.equal(erased[:, 0].sum(dim=(1, 2)), down * right)  # one rectangle, without holes
    assert (down.max(), right.max(), down.min() >= 1) == (min(size, 5), min(size, 4), True)
    middles = {tuple(each.nonzero().flatten().tolist()) for each in erased[:, 0].flatten(1)}
    assert len(middles) == {1: 20, 2: 20, 3: 20, 9: 1}[size]


def test_pictures_are_normalised_by_channel_or_as_a_whole():
    torch.testing.assert_close(Normalise(2, 4).apply(pictures(3), draws(3)), (pictures(3) - 2) / 4)
    expected = (pictures(3) - torch.tensor([1.0, 30.0]).view(2, 1, 1)) / torch.tensor([10.0, 0.5]).view(2, 1, 1)
    torch.testing.assert_close(Normalise([1, 30], [10, 0.5]).apply(pictures(3), draws(3)), expected)


def test_normalised_bytes_become_floats_and_floats_stay_as_exact_as_they_were():
    changed = Normalise(128, 64).apply(torch.tensor([[[[0, 255]]]], dtype=torch.uint8), draws(1))
    assert (changed.tolist(), changed.dtype) == ([[[[-2.0, 1.984375]]]], torch.float32)
    assert Normalise(0, 1).apply(torch.ones(1, 1, 1, 1, dtype=torch.float64), draws(1)).dtype == torch.float64


def test_pictures_with_other_channels_than_were_said_are_refused():
    with pytest.raises(DataError, match="mean has 3 numbers, but the pictures have 2 channels; give one number, or"):
        Normalise([1, 2, 3], 1).apply(pictures(1), draws(1))
    with pytest.raises(DataError, match="deviation has 3 numbers"):
        Normalise(1, [1, 2, 3]).apply(pictures(1), draws(1))


def test_only_what_a_model_needs_whenever_it_is_used_is_for_validation_too():
    always = [getattr(each, "always", False) for each in (Flip(), Crop(), Erase(1), Normalise(0, 1))]
    assert always == [False, False, False, True]


def test_draws_are_uniform_and_those_that_follow_are_others():
    numbers = draws(100_000)
    first, second = numbers.uniform(), numbers.uniform()
    assert len(numbers) == 100_000
    for each in (first, second):
        assert 0 <= each.min() < each.max() < 1
        counts = np.bincount((each * 50).astype(int))
        assert ((counts - 2000) ** 2 / 2000).sum() < 90  # 49 are expected, 10 is their deviation
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
    assert np.bincount(numbers.below(5)).min() > 19_500
