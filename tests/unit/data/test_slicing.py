"""A person's own DataLoader is cut so that ranks together see its batches."""

import copy
from itertools import chain

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    TensorDataset,
    WeightedRandomSampler,
)
from torch.utils.data.distributed import DistributedSampler

from stretto.data.slicing import slice_loader
from stretto.errors import DataError


class Squares(Dataset):
    def __len__(self):
        return 23

    def __getitem__(self, index):
        return index, index**2


def loader(**options):
    return DataLoader(Squares(), **({"batch_size": 5, "shuffle": True} | options))


def collect(sliced):
    """Every batch's samples that count, and the size of the global batch."""
    return [(batch[0][: sliced.current[0]].tolist(), sliced.current[1]) for batch in sliced]


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("options", [{}, {"shuffle": False}, {"drop_last": True}], ids=str)
def test_the_ranks_parts_together_are_every_batch_of_one_rank(ranks, options):
    whole = collect(slice_loader(loader(**options), 0, 1, seed=3))
    parts = [collect(slice_loader(loader(**options), rank, ranks, seed=3)) for rank in range(ranks)]
    for step, (samples, size) in enumerate(whole):
        assert list(chain.from_iterable(part[step][0] for part in parts)) == samples
        assert {part[step][1] for part in parts} == {size} == {len(samples)}


def test_its_length_stays_that_of_the_global_batches():
    assert len(slice_loader(loader(), 0, 4, 0)) == len(loader()) == 5


def test_an_empty_part_is_one_sample_that_does_not_count():
    sliced = slice_loader(loader(shuffle=False), 3, 4, 0)
    sizes = [(len(batch[0]), sliced.current) for batch in sliced]
    assert sizes == [(1, (1, 5))] * 4 + [(1, (0, 3))]


def test_epochs_are_shuffled_anew_and_can_be_set():
    sliced = slice_loader(loader(), 0, 2, seed=0)
    first, second = collect(sliced), collect(sliced)
    assert first != second
    assert sliced.epoch == 2
    sliced.set_epoch(0)
    assert collect(sliced) == first


def test_the_global_random_state_does_not_matter():
    torch.manual_seed(1)
    one = collect(slice_loader(loader(), 0, 2, seed=0))
    torch.manual_seed(2)
    assert collect(slice_loader(loader(), 0, 2, seed=0)) == one


def test_the_persons_own_loader_stays_as_it_was():
    mine = loader(generator=torch.Generator().manual_seed(5))
    expected = [batch[0].tolist() for batch in loader(generator=torch.Generator().manual_seed(5))]
    collect(slice_loader(mine, 0, 2, seed=0))
    assert [batch[0].tolist() for batch in mine] == expected


def test_leaving_an_epoch_early_does_not_confuse_the_next():
    sliced = slice_loader(loader(shuffle=False), 0, 2, 0)
    next(iter(sliced))
    assert [sliced.current for _ in sliced] == [(3, 5)] * 4 + [(2, 3)]


def test_collate_function_and_workers_are_kept():
    def collate(items):
        return [sum(index for index, _ in items)]

    sliced = slice_loader(loader(shuffle=False, collate_fn=collate, num_workers=2, persistent_workers=True), 1, 2, 0)
    for _ in range(2):
        assert [(batch, sliced.current) for batch in sliced] == [
            ([7], (2, 5)),
            ([17], (2, 5)),
            ([27], (2, 5)),
            ([37], (2, 5)),
            ([22], (1, 3)),
        ]


def test_samplers_that_draw_draw_alike_on_all_ranks():
    sampler = WeightedRandomSampler([1.0, 2.0] * 11 + [1.0], 20)
    parts = [collect(slice_loader(loader(shuffle=None, sampler=sampler), rank, 2, 1)) for rank in range(2)]
    whole = collect(slice_loader(loader(shuffle=None, sampler=sampler), 0, 1, 1))
    assert [left[0] + right[0] for left, right in zip(*parts, strict=True)] == [samples for samples, _ in whole]


def test_a_batch_sampler_of_ones_own_is_cut_too():
    class Growing(BatchSampler):
        def __iter__(self):
            return iter([[0], [1, 2], [3, 4, 5]])

        def __len__(self):
            return 3

    mine = DataLoader(Squares(), batch_sampler=Growing(SequentialSampler(Squares()), 1, False))
    assert collect(slice_loader(mine, 1, 2, 0)) == [([], 1), ([2], 2), ([5], 3)]


def test_what_else_the_loader_has_is_still_found():
    sliced = slice_loader(loader(), 0, 2, 0)
    assert len(sliced.dataset) == 23
    assert sliced.batch_size == 5
    with pytest.raises(AttributeError):
        _ = sliced.nonsense
    assert copy.copy(sliced).batch_size == 5


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(10))


@pytest.mark.parametrize(
    "mine, remedy",
    [
        (DataLoader(Stream()), "Stream is an IterableDataset.*give a dataset with __getitem__"),
        (loader(batch_size=None, shuffle=False), "batch_size=None.*give it the global batch"),
        (
            loader(shuffle=None, sampler=DistributedSampler(TensorDataset(torch.zeros(9)), 2, 0)),
            "DistributedSampler.*shuffle=True",
        ),
    ],
    ids=["stream", "no batches", "cut already"],
)
def test_what_cannot_be_cut_is_refused_with_a_remedy(mine, remedy):
    with pytest.raises(DataError, match=remedy):
        slice_loader(mine, 0, 2, 0)


def test_a_rank_that_does_not_exist_is_refused():
    with pytest.raises(DataError, match="rank 2 has no share of 2"):
        slice_loader(loader(), 2, 2, 0)
