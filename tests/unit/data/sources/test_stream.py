"""Streams: read in rising order, epoch after epoch, and held to the length they say."""

import pytest
import torch
from torch.utils.data import IterableDataset, TensorDataset

from stretto.data.evaluation_loader import EvaluationLoader
from stretto.data.source import Source, as_sources
from stretto.data.sources.stream import Stream
from stretto.errors import DataError


class Numbers(IterableDataset):
    """Items (n, n), which says that it has `said` of them, and counts how often it was begun."""

    classes = ("small", "large")

    def __init__(self, size, said=None):
        self.size, self.said, self.begun = size, said if said is not None else size, 0

    def __len__(self):
        return self.said

    def __iter__(self):
        self.begun += 1
        return ((torch.tensor([float(number)]), number) for number in range(self.size))


class Endless(IterableDataset):
    def __iter__(self):
        return iter(range(3))


def values(batch):
    return batch.inputs[:, 0].tolist()


def test_a_stream_is_a_source_that_is_read_in_its_order():
    source = Stream(Numbers(10))
    assert isinstance(source, Source)
    assert (len(source), source.sequential, source.ahead, source.name) == (10, True, False, "Numbers")
    assert source.facts == {"shape": (1,), "features": 1, "classes": 2, "outputs": 2}
    batch = source.read(range(4))
    assert (values(batch), batch.targets.tolist(), batch.indices.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3])


def test_what_is_left_out_is_passed_over():
    source = Stream(Numbers(10))
    assert [values(source.read(part)) for part in ([2, 3], [6, 9])] == [[2, 3], [6, 9]]


@pytest.mark.parametrize(
    "part", [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7]], [[5], [9]]], ids=["first", "second", "few"]
)
def test_every_epoch_is_an_iteration_whatever_part_a_worker_reads(part):
    dataset = Numbers(10)
    source = Stream(dataset)
    for epoch in (1, 2, 3):
        assert [values(source.read(indices)) for indices in part] == part
        assert dataset.begun == epoch


def test_after_going_on_in_the_middle_the_next_epoch_begins_at_the_beginning():
    source = Stream(Numbers(10))
    assert values(source.read([6, 7])) == [6, 7]
    assert values(source.read([2, 3])) == [2, 3]
    assert values(source.read([0])) == [0]


@pytest.mark.parametrize("before, asked", [([0, 5], [3]), ([4, 6], [5]), ([], [0, 3, 2])])
def test_what_has_gone_by_is_found_by_beginning_anew(before, asked):
    source = Stream(Numbers(10))
    if before:
        source.read(before)
    assert values(source.read(asked)) == asked


def test_a_stream_that_ends_too_early_is_told_with_both_numbers():
    source = Stream(Numbers(5, said=8))
    assert values(source.read([4])) == [4]
    with pytest.raises(DataError, match="Numbers ends after 5 of 8 samples; correct its __len__"):
        source.read([6])


def test_a_stream_that_goes_on_is_told_when_its_end_should_be():
    source = Stream(Numbers(9, said=8))
    source.read([0, 6])
    with pytest.raises(DataError, match="Numbers goes on after its 8 samples"):
        source.read([7])


@pytest.mark.parametrize(
    "dataset, words",
    [
        (Endless(), "Endless does not say how many samples an epoch has; give it __len__"),
        (Numbers(0), "there are no samples"),
        (Numbers(0, said=5), "there are no samples"),
        (Numbers(5, said=0), "there are no samples"),
    ],
    ids=["no length", "empty", "empty all the same", "empty by its word"],
)
def test_a_stream_that_cannot_be_read_is_refused(dataset, words):
    with pytest.raises(DataError, match=words):
        Stream(dataset)


def test_a_sample_beyond_its_end_does_not_exist():
    with pytest.raises(IndexError, match="has 3 samples; 3 was asked for"):
        Stream(Numbers(3)).read([3])


def test_a_stream_alone_has_nothing_to_validate_with():
    with pytest.raises(DataError, match=r"stream is a stream, .* give a pair: \(training, validation\)"):
        as_sources(Numbers(10), "stream")
    training, validation = as_sources((Numbers(10), TensorDataset(torch.zeros(3, 1), torch.zeros(3))))
    assert (len(training), len(validation)) == (10, 3)
    assert isinstance(training, Stream)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_ranks_validate_with_their_parts_of_a_stream_again_and_again(rank):
    loader = EvaluationLoader(Stream(Numbers(10)), batch=2, rank=rank, size=3)
    passes = [[number for batch in loader for number in values(batch)] for _ in range(3)]
    assert passes[0] == passes[1] == passes[2]
    assert passes[0] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]][rank]
