"""What every source promises, whatever it is made of."""

from importlib import import_module
from itertools import chain

import fsspec
import numpy as np
import pytest
import torch
from data_world import (
    Numbers,
    flowers,
    picture_shard,
    save_dataset,
    write_cifar,
    write_fashion,
    write_picture_folders,
    write_table,
)
from torch.utils.data import TensorDataset

from stretto.data.batch import Batch, change_tensors
from stretto.data.portion import hold_out
from stretto.data.source import Source
from stretto.data.sources.arrays import Arrays, open_rows
from stretto.data.sources.cifar10 import cifar10
from stretto.data.sources.digits import digits
from stretto.data.sources.fashion_mnist import fashion_mnist
from stretto.data.sources.hugging_face import hugging_face
from stretto.data.sources.image_folder import image_folder
from stretto.data.sources.mnist import mnist
from stretto.data.sources.tar import tar
from stretto.data.sources.text import text
from stretto.data.sources.tokens import tokens
from stretto.data.sources.torch_dataset import TorchDataset


def mapped(folder):
    np.save(folder / "rows.npy", np.arange(24, dtype=np.float32).reshape(12, 2))
    return Arrays(np.load(folder / "rows.npy", mmap_mode="r"), np.arange(12))


def large(folder):
    np.save(folder / "rows.npy", np.arange(36, dtype=np.float32).reshape(12, 3))
    np.save(folder / "classes.npy", np.arange(12) % 3)
    return Arrays(*(open_rows(str(folder / name), mapped_bytes=0) for name in ("rows.npy", "classes.npy")))


def fashion(folder):
    write_fashion(folder, samples=12)
    return fashion_mnist(str(folder))[0]


def picture_folders(folder):
    write_picture_folders(folder, {"cat": 8, "dog": 7})
    return image_folder(str(folder), size=8)[0]


def shards(folder):
    for number in range(3):
        (folder / f"{number}.tar").write_bytes(picture_shard(range(5 * number, 5 * number + 5)))
    return tar(str(folder), str(folder), size=8)[0]


def remote_shards(folder):
    system = fsspec.filesystem("memory")
    for number in range(3):
        system.pipe_file(f"{folder}/{number}.tar", picture_shard(range(5 * number, 5 * number + 5)))
    return tar(f"memory:/{folder}/{{0..2}}.tar", share=0.5, size=8)[0]


def cifar(folder):
    write_cifar(folder)
    return cifar10(str(folder))[1]


def token_files(folder):
    for name, size in (("a.bin", 100), ("b.bin", 60)):
        (np.arange(size, dtype=np.uint16) % 50).tofile(folder / name)
    return tokens(str(folder), length=10)[0]


def table(word, ending):
    def opened(folder):
        return getattr(import_module(f"stretto.data.sources.{word}"), word)(
            write_table(folder / f"x{ending}", flowers(20)), "kind"
        )

    return opened


SOURCES = {
    "arrays": lambda folder: Arrays(torch.randn(12, 3), torch.arange(12)),
    "mapped arrays": mapped,
    "large arrays": large,
    "digits": lambda folder: digits()[1],
    "fashion_mnist": fashion,
    "mnist": lambda folder: write_fashion(folder, samples=12) and mnist(str(folder))[1],
    "cifar10": cifar,
    "image_folder": picture_folders,
    "tar": shards,
    "remote tar": remote_shards,
    "parquet": lambda folder: table("parquet", ".parquet")(folder)[0],
    "arrow": lambda folder: table("arrow", ".arrow")(folder)[0],
    "csv": lambda folder: table("csv", ".csv")(folder)[0],
    "hugging_face": lambda folder: hugging_face(save_dataset(folder / "flowers", flowers(20)), "kind")[0],
    "tokens": token_files,
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


def test_its_labels_are_the_classes_it_reads(source):
    if hasattr(source, "labels"):
        assert source.labels().dtype == np.int64
        assert source.labels().tolist() == source.read(range(len(source))).targets.tolist()


def test_its_blocks_hold_all_its_samples(source):
    if hasattr(source, "blocks"):
        assert sum(source.blocks) == len(source)
        assert min(source.blocks) >= 1


def test_a_sample_that_does_not_exist_is_an_error(source):
    with pytest.raises(IndexError):
        source.read([len(source) + 5])


def test_blocks_add_up_to_all_samples_and_labels_are_the_targets(source):
    if hasattr(source, "blocks"):
        assert sum(source.blocks) == len(source)
        assert min(source.blocks) > 0
    if "classes" in source.facts and hasattr(source, "labels"):
        assert source.labels().tolist() == source.read(range(len(source))).targets.tolist()
