"""Sets of pictures that are kept as bytes: MNIST, Fashion-MNIST and CIFAR-10, each from the files of its authors."""

import gzip

import numpy as np
import pytest
import torch
from data_world import write_cifar, write_fashion

from stretto.data.sources import cifar10 as cifar_module
from stretto.data.sources import fashion_mnist as fashion_module
from stretto.data.sources import mnist as mnist_module
from stretto.data.sources.cifar10 import cifar10
from stretto.data.sources.fashion_mnist import fashion_mnist
from stretto.data.sources.mnist import mnist
from stretto.data.sources.normalisation import Normalisation
from stretto.data.sources.pictures import Pictures
from stretto.errors import DataError


@pytest.mark.parametrize(
    "open_set, mean, deviation", [(mnist, 0.1307, 0.3081), (fashion_mnist, 0.2860, 0.3530)], ids=["mnist", "fashion"]
)
def test_the_mnist_family_is_read_from_a_folder_and_normalised(tmp_path, open_set, mean, deviation):
    images, labels = write_fashion(tmp_path)
    training, validation = open_set(str(tmp_path))
    batch = training.read([4, 1])
    assert (len(training), len(validation), batch.inputs.shape) == (6, 6, (2, 1, 28, 28))
    assert batch.targets.tolist() == labels[[4, 1]].tolist()
    expected = torch.from_numpy((images[[4, 1], None] / 255 - mean) / deviation)
    torch.testing.assert_close(batch.inputs.double(), expected, rtol=1e-5, atol=1e-5)


def test_files_that_are_not_gzipped_are_taken_too(tmp_path):
    write_fashion(tmp_path)
    zipped = mnist(str(tmp_path))[0].read(range(6))
    for path in tmp_path.glob("*.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    raw = mnist(str(tmp_path))[0].read(range(6))
    assert torch.equal(raw.inputs, zipped.inputs)
    assert torch.equal(raw.targets, zipped.targets)


def test_cifar_is_read_from_the_binary_version_and_normalised_by_channel(tmp_path):
    records = write_cifar(tmp_path, samples=4)
    training, validation = cifar10(str(tmp_path))
    batch = validation.read([3, 0])
    assert (len(training), len(validation), training.facts["shape"]) == (20, 4, (3, 32, 32))
    assert batch.targets.tolist() == records[[3, 0], 0].tolist()
    red, green, blue = batch.inputs[0].double()
    first, second, third = torch.from_numpy(records[3, 1:] / 255).view(3, 32, 32)
    torch.testing.assert_close(red, (first - 0.4914) / 0.2470, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(green, (second - 0.4822) / 0.2435, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(blue, (third - 0.4465) / 0.2616, rtol=1e-5, atol=1e-5)


def test_pictures_stay_bytes_and_a_batch_is_the_readers_own(tmp_path):
    write_cifar(tmp_path)
    source = cifar10(str(tmp_path))[0]
    before = source.read([1]).inputs.clone()
    source.read([1]).inputs.zero_()
    assert torch.equal(source.read([1]).inputs, before)


@pytest.mark.parametrize(
    "module, open_set, words",
    [
        (mnist_module, mnist, "data mnist: .*train-images-idx3.*gz does not exist; take the four files from https"),
        (fashion_module, fashion_mnist, "train-images.* not exist; install Debian's package dataset-fashion-mnist"),
        (cifar_module, cifar10, r"data cifar10: .*data_batch_1\.bin does not exist; take the binary version from"),
    ],
    ids=["mnist", "fashion_mnist", "cifar10"],
)
def test_a_missing_set_says_where_to_get_it(tmp_path, monkeypatch, module, open_set, words):
    monkeypatch.setattr(module, "SYSTEM_FOLDER", tmp_path)
    with pytest.raises(DataError, match=f"{words}.*data.folder"):
        open_set()


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    write_fashion(tmp_path, samples=5)
    labels = (tmp_path / "train-labels-idx1-ubyte.gz").read_bytes()
    write_fashion(tmp_path, samples=6)
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(labels)
    with pytest.raises(DataError, match="fashion_mnist: 6 images, but 5 labels"):
        fashion_mnist(str(tmp_path))


def test_a_label_beyond_the_classes_is_named_with_its_place(tmp_path):
    write_fashion(tmp_path)
    path = tmp_path / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:-1] + bytes([10])))
    with pytest.raises(DataError, match=r"t10k-labels.*gz: label 10 at offset 13; labels go from 0 to 9"):
        mnist(str(tmp_path))


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda content: content[:-100], r"ends at offset 12192, 2973 bytes into record 3; records have 3073 bytes"),
        (lambda content: content + b"x", r"ends at offset 12293, 1 bytes into record 4"),
        (lambda content: b"", "ends at offset 0, 0 bytes into record 0"),
        (lambda content: content[:6146] + b"\x0b" + content[6147:], "label 11 at offset 6146; labels go from 0 to 9"),
    ],
    ids=["shorter", "longer", "empty", "label"],
)
def test_damaged_cifar_is_named_with_the_place(tmp_path, change, words):
    write_cifar(tmp_path, samples=4)
    path = tmp_path / "data_batch_3.bin"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError, match=rf"data_batch_3\.bin: {words}"):
        cifar10(str(tmp_path))


def test_no_pictures_are_no_data():
    nothing = np.zeros((0, 1, 2, 2), dtype=np.uint8)
    with pytest.raises(DataError, match="there are no samples"):
        Pictures("mine", nothing, nothing[:, 0, 0, 0], Normalisation((0.5,), (0.5,)))
