"""What every source promises, whatever it is made of."""

from itertools import chain

import numpy as np
import pytest
import torch
from data_world import Numbers, write_fashion
from torch.utils.data import TensorDataset

from stretto.data.arrays import Arrays
from stretto.data.batch import Batch, change_tensors
from stretto.data.digits import digits
from stretto.data.fashion_mnist import fashion_mnist
from stretto.data.portion import hold_out
from stretto.data.source import Source
from stretto.data.text import text
from stretto.data.torch_dataset import TorchDataset


def mapped(folder):
    np.save(folder / "rows.npy", np.arange(24, dtype=np.float32).reshape(12, 2))
    return Arrays(np.load(folder / "rows.npy", mmap_mode="r"), np.arange(12))


def fashion(folder):
    write_fashion(folder, samples=12)
    return fashion_mnist(str(folder))[0]


SOURCES = {
    "arrays": lambda folder: Arrays(torch.randn(12, 3), torch.arange(12)),
    "mapped arrays": mapped,
    "digits": lambda folder: digits()[1],
    "fashion_mnist": fashion,
    "text": lambda folder: text(length=16)[1],
    "torch dataset": lambda folder: TorchDataset(TensorDataset(torch.randn(12, 3), torch.arange(12))),
    "portion": lambda folder: hold_out(Arrays(torch.randn(20, 3), torch.arange(20)), 0.3)[0],
    "one's own": lambda folder: Numbers(12),
}


@pytest.fixture(params=SOURCES, ids=str)
def source(request, tmp_path):
    return SOURCES[request.param](tmp_path)


def rows(batch):
    listed = []
    change_tensors(lambda tensor: listed.append(tensor.tolist()) or tensor, (batch.inputs, batch.targets))
    return listed


def test_it_has_what_the_contract_says(source):
    assert isinstance(source, Source)
    assert isinstance(source.name, str)
    assert len(source) >= 10


def test_a_batch_has_the_samples_that_were_asked_for_in_their_order(source):
    batch = source.read([7, 0, 9])
    assert isinstance(batch, Batch)
    assert batch.indices.tolist() == [7, 0, 9]
    one_by_one = [source.read([index]) for index in (7, 0, 9)]
    assert rows(batch) == [list(chain.from_iterable(column)) for column in zip(*map(rows, one_by_one), strict=True)]


def test_reading_twice_gives_the_same(source):
    assert rows(source.read([3, 3, 1])) == rows(source.read([3, 3, 1]))


def test_lists_and_ranges_are_taken_alike(source):
    assert rows(source.read(range(2, 5))) == rows(source.read([2, 3, 4]))


def test_a_batch_can_be_cut_to_nothing_and_keeps_its_shapes(source):
    batch = source.read([0])
    nothing = batch.slice(0, 0)
    assert len(nothing) == 0
    assert nothing.inputs.shape[1:] == batch.inputs.shape[1:]


def test_its_facts_fit_its_batches(source):
    batch = source.read([0, 1])
    assert source.facts.get("shape", tuple(batch.inputs.shape[1:])) == tuple(batch.inputs.shape[1:])
    assert source.facts["features"] == batch.inputs[0].numel()
    if "classes" in source.facts:
        assert int(source.read(range(len(source))).targets.max()) < source.facts["classes"]


def test_a_sample_that_does_not_exist_is_an_error(source):
    with pytest.raises(IndexError):
        source.read([len(source) + 5])
