"""A share that is drawn of every block: nothing is lost, nothing comes twice, blocks stay together."""

import numpy as np
import pytest
import torch

from stretto.data.portion import hold_out
from stretto.data.sources.arrays import Arrays


class Blocks(Arrays):
    def __init__(self, blocks):
        numbers = torch.arange(sum(blocks))
        super().__init__(numbers.view(-1, 1), numbers)
        self.blocks = blocks


@pytest.mark.parametrize("blocks", [(10, 10, 10), (1,) * 20, (3, 100, 1, 1, 40), (7,)], ids=str)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.85])
def test_every_sample_is_on_one_side_in_the_block_it_was_in(blocks, share):
    parts = hold_out(Blocks(blocks), share, seed=1)
    numbers = [part.read(range(len(part))).targets.tolist() for part in parts]
    assert sorted(numbers[0] + numbers[1]) == list(range(sum(blocks)))
    assert len(parts[1]) == round(sum(blocks) * share)
    ends = np.cumsum(blocks)
    for part, found in zip(parts, numbers, strict=True):
        assert sum(part.blocks) == len(part)
        home = np.searchsorted(ends, found, side="right")
        assert [int((home == block).sum()) for block in np.unique(home)] == list(part.blocks)
        assert np.array_equal(home, np.sort(home))
        assert part.labels().tolist() == found


def test_a_portion_of_blocks_depends_on_its_seed_and_keeps_the_numbers_that_were_asked_for():
    one, same, other = (hold_out(Blocks((50, 50)), seed=seed)[1] for seed in (0, 0, 1))
    assert one.read([7, 3]).indices.tolist() == [7, 3]
    assert one.labels().tolist() == same.labels().tolist() != other.labels().tolist()
    with pytest.raises(IndexError, match="of 20 samples"):
        one.read([20])
