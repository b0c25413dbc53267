"""The sources a job can name: what they hold, what they know, and what they say when they cannot."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from data_world import resident_bytes
from torch.utils.data import TensorDataset

from stretto.data.batch import Batch
from stretto.data.damage import Damage, DamagedSamples
from stretto.data.portion import hold_out
from stretto.data.sources.arrays import Arrays, arrays, open_rows
from stretto.data.sources.digits import digits
from stretto.data.sources.text import text
from stretto.data.sources.torch_dataset import TorchDataset
from stretto.data.stratified import hold_out_of_classes
from stretto.errors import DataError, MissingExtra


def everything(source):
    return source.read(range(len(source)))


# digits


def test_digits_are_all_there_and_split_alike_in_every_class():
    training, validation = digits()
    labels = [everything(source).targets.bincount() for source in (training, validation)]
    assert len(training) + len(validation) == 1797
    assert torch.allclose(labels[1] / (labels[0] + labels[1]), torch.full((10,), 0.2), atol=0.003)
    assert training.facts == {"shape": (1, 8, 8), "features": 64, "channels": 1, "classes": 10, "outputs": 10}
    pictures = everything(training).inputs
    assert (pictures.min(), pictures.max(), pictures.dtype) == (0, 1, torch.float32)


def test_digits_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    theirs = {image.tobytes() for image in load_digits().images.astype(np.float32)}
    ours = {image.numpy().tobytes() for source in digits() for image in everything(source).inputs * 16}
    assert ours == theirs


def test_a_seed_decides_which_digits_validate():
    one, same, other = (everything(digits(seed=seed)[1]).inputs for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_reading_digits_does_not_import_scikit_learn():
    code = "import sys; from stretto.data.sources.digits import digits; digits(); sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_without_scikit_learn_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setattr("stretto.data.sources.digits.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "stretto\[examples\]"'):
        digits()


@pytest.mark.parametrize("share", [0.0, 1.0, -3.0])
def test_a_share_that_leaves_nothing_is_refused(share):
    with pytest.raises(DataError, match="leaves nothing on one side"):
        digits(share=share)


# arrays


def test_arrays_in_memory_keep_their_dtype():
    source = Arrays(torch.arange(6, dtype=torch.float64).view(3, 2), torch.tensor([0, 2, 1], dtype=torch.int16))
    batch = source.read([2, 0])
    assert batch.inputs.tolist() == [[4, 5], [0, 1]]
    assert (batch.inputs.dtype, batch.targets.dtype, source.facts["classes"]) == (torch.float64, torch.int16, 3)


def test_a_batch_can_be_changed_without_changing_the_source():
    source = Arrays(torch.ones(3, 2), torch.zeros(3))
    source.read([0]).inputs.zero_()
    assert source.read([0]).inputs.tolist() == [[1, 1]]


def test_files_are_mapped_and_doubles_made_single(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(20, dtype=np.float64).reshape(10, 2))
    np.save(tmp_path / "y.npy", np.arange(10, dtype=np.float32))
    training, validation = arrays(str(tmp_path / "x.npy"), str(tmp_path / "y.npy"), share=0.3, seed=1)
    assert (len(training), len(validation)) == (7, 3)
    assert training.facts == {"shape": (2,), "features": 2, "outputs": 1}
    assert everything(training).inputs.dtype == torch.float32
    both = torch.cat([everything(training).targets, everything(validation).targets])
    assert both.sort().values.tolist() == list(range(10))


def test_validation_may_have_files_of_its_own():
    training, validation = arrays(torch.zeros(4, 1), torch.zeros(4), torch.zeros(2, 1), torch.zeros(2))
    assert (len(training), len(validation)) == (4, 2)
    with pytest.raises(DataError, match="both validation_inputs and validation_targets"):
        arrays(torch.zeros(4, 1), torch.zeros(4), validation_inputs=torch.zeros(4, 1))


def test_no_pickled_array_is_ever_loaded(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"x\.npy is no whole \.npy file"):
        arrays(str(tmp_path / "x.npy"), torch.zeros(1))


@pytest.mark.parametrize("mapped_bytes", [0, 2**20], ids=["read row by row", "mapped"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int64])
def test_rows_are_the_same_however_large_the_file_is(tmp_path, dtype, mapped_bytes):
    whole = np.arange(600).reshape(100, 2, 3).astype(dtype)
    np.save(tmp_path / "x.npy", whole)
    source = Arrays(open_rows(str(tmp_path / "x.npy"), mapped_bytes), np.arange(100))
    asked = [5, 6, 7, 99, 0, 0, 1, 50]
    assert source.read(asked).inputs.tolist() == whole[asked].tolist()
    assert source.facts["shape"] == (2, 3)
    assert source.read([1]).inputs.dtype == (torch.float32 if dtype == np.float64 else torch.from_numpy(whole).dtype)


def test_classes_are_counted_and_labels_known_without_reading_samples(tmp_path):
    np.save(tmp_path / "y.npy", np.arange(5_000_000) % 7)
    source = Arrays(torch.zeros(5_000_000), open_rows(str(tmp_path / "y.npy"), mapped_bytes=0))
    assert source.facts["classes"] == 7
    assert np.array_equal(source.labels(), np.arange(5_000_000) % 7)
    training, validation = hold_out(source)
    assert training.labels()[[3, 5]].tolist() == training.read([3, 5]).targets.tolist()
    assert len(validation.labels()) == 1_000_000


def test_labels_of_what_has_no_classes_are_refused():
    with pytest.raises(DataError, match="targets of float32 are no classes; give whole numbers"):
        Arrays(torch.zeros(3), torch.zeros(3)).labels()
    with pytest.raises(DataError, match="Pictures does not know the classes of its samples"):
        hold_out(TorchDataset(Pictures()))[0].labels()


def test_memory_does_not_grow_with_the_part_of_a_file_that_was_read(tmp_path):
    written = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (60_000, 250))
    written[:] = np.arange(60_000)[:, None]
    del written
    source = Arrays(open_rows(str(tmp_path / "x.npy"), mapped_bytes=2**22), np.zeros(60_000))
    before = resident_bytes()
    for block in np.random.default_rng(0).permutation(60):
        assert source.read(range(block * 1000, block * 1000 + 1000)).inputs[5, 0] == block * 1000 + 5
    assert resident_bytes() - before < 20e6  # of 60


def test_a_file_that_lost_its_end_while_it_was_used_is_named(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((100, 1), dtype=np.float32))
    source = Arrays(open_rows(str(tmp_path / "x.npy"), mapped_bytes=0), np.zeros(100))
    os.truncate(tmp_path / "x.npy", 328)
    with pytest.raises(DataError, match=r"x\.npy ends at offset 328; it was whole"):
        source.read([49, 50])


class Torn:
    """A source whose odd samples are damaged."""

    name, facts = "torn", {}

    def __len__(self):
        return 20

    def read(self, indices):
        damages = [Damage(sample=index, file="f", offset=index, reason="torn") for index in indices if index % 2]
        whole = torch.tensor([index for index in indices if index % 2 == 0])
        raise DamagedSamples(damages, Batch(whole, whole, whole) if len(whole) else None)


def test_a_portion_calls_damaged_samples_by_its_own_numbers():
    training, _ = hold_out(Torn(), 0.3)
    with pytest.raises(DamagedSamples) as found:
        training.read(range(14))
    rest = found.value.rest
    numbers = [damage.sample for damage in found.value.damages] + rest.indices.tolist()
    assert sorted(numbers) == list(range(14))
    with pytest.raises(DamagedSamples) as found:
        training.read([numbers[0]])
    assert found.value.rest is None


@pytest.mark.parametrize("kept", [0, 5, 60, 130, 167])
def test_a_truncated_array_file_is_named(tmp_path, kept):
    np.save(tmp_path / "x.npy", np.zeros((10, 1), dtype=np.float32))
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:kept])
    with pytest.raises(DataError, match=rf"x\.npy is no whole \.npy file; it has {kept} bytes"):
        arrays(str(tmp_path / "x.npy"), torch.zeros(10))


@pytest.mark.parametrize(
    "inputs, targets, words",
    [
        (torch.zeros(3, 2), torch.zeros(4), "3 inputs, but 4 targets"),
        (torch.zeros(0, 2), torch.zeros(0), "there are no samples"),
        (torch.tensor(1.0), torch.zeros(1), "holds no samples"),
        (np.array(["a"]), torch.zeros(1), "holds no samples"),
        ("missing.npy", torch.zeros(1), r"missing\.npy does not exist"),
    ],
    ids=["lengths", "empty", "scalar", "words", "missing"],
)
def test_arrays_that_hold_no_samples_are_refused(inputs, targets, words):
    with pytest.raises(DataError, match=words):
        arrays(inputs, targets)


def test_half_precision_without_a_numpy_type_is_read_as_single():
    assert Arrays(torch.ones(2, 2, dtype=torch.bfloat16), torch.zeros(2)).read([0]).inputs.dtype == torch.float32


# text


def test_every_byte_is_followed_by_its_target(tmp_path):
    (tmp_path / "poem.txt").write_bytes(bytes(range(100)))
    training, validation = text(str(tmp_path / "poem.txt"), length=8, share=0.3)
    batch = everything(training)
    assert (len(training), len(validation)) == (8, 3)
    assert batch.inputs.flatten().tolist() == list(range(64))
    assert torch.equal(batch.targets, batch.inputs + 1)
    assert training.facts == {"shape": (8,), "features": 8, "length": 8, "vocabulary": 256}
    assert everything(validation).inputs[0, 0] == 70


def test_there_is_text_without_any_file():
    training, _ = text()
    assert len(training) > 3000
    assert b"for" in bytes(everything(training).inputs.flatten().tolist())


@pytest.mark.parametrize(
    "content, options, words",
    [
        (None, {}, "does not exist; name any text file"),
        (b"", {}, "is empty"),
        (b"short", {"length": 8}, "hold no window of 8 bytes"),
        (b"some words", {"length": 0}, "no window of 0 bytes"),
        (b"some words", {"share": 1.0}, "leaves nothing on one side"),
    ],
    ids=["missing", "empty", "short", "no length", "no training"],
)
def test_text_that_cannot_be_used_is_refused(tmp_path, content, options, words):
    if content is not None:
        (tmp_path / "poem.txt").write_bytes(content)
    with pytest.raises(DataError, match=words):
        text(str(tmp_path / "poem.txt"), **options)


# torch datasets and portions


class Pictures(torch.utils.data.Dataset):
    classes = ("cat", "dog", "horse")

    def __len__(self):
        return 7

    def __getitem__(self, index):
        return torch.full((3, 4, 4), float(index)), index % 3


def test_a_dataset_is_collated_and_its_classes_known():
    source = TorchDataset(Pictures())
    batch = source.read([5, 2])
    assert (batch.inputs[:, 0, 0, 0].tolist(), batch.targets.tolist()) == ([5, 2], [2, 2])
    assert source.facts == {"shape": (3, 4, 4), "features": 48, "channels": 3, "classes": 3, "outputs": 3}
    assert source.name == "Pictures"


def test_a_dataset_that_reads_several_at_once_may():
    class Together(Pictures):
        def __getitems__(self, indices):
            return [(torch.zeros(1), len(indices)) for _ in indices]

    assert TorchDataset(Together()).read([1, 2, 3]).targets.tolist() == [3, 3, 3]


def test_a_dataset_may_be_collated_in_its_own_way():
    source = TorchDataset(
        Pictures(), collate=lambda items: ({"image": torch.stack([i for i, _ in items])}, torch.ones(len(items)))
    )
    assert source.read([1, 2]).inputs["image"].shape == (2, 3, 4, 4)


def single(item):
    class Single(Pictures):
        def __getitem__(self, index):
            return item

    return Single()


class Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(range(3))


@pytest.mark.parametrize(
    "dataset, words",
    [
        (Endless(), "Endless cannot be read by number; give a dataset with __getitem__"),
        (5, "int cannot be read by number"),
        (TensorDataset(torch.zeros(0)), "there are no samples"),
        (single(torch.zeros(3)), r"item 0 is no pair; items must be \(input, target\)"),
        (single((torch.zeros(3), "cat")), "the target of item 0 is str; make it a number"),
        (single(({"a": ["x"]}, 1)), "the input of item 0 is str"),
    ],
    ids=["stream", "number", "empty", "no pair", "words", "nested words"],
)
def test_a_dataset_that_cannot_be_used_is_refused(dataset, words):
    with pytest.raises(DataError, match=words):
        TorchDataset(dataset)


def test_holding_out_loses_nothing_and_depends_on_the_seed():
    source = Arrays(torch.arange(10).view(10, 1), torch.arange(10))
    training, validation = hold_out(source, 0.3, seed=0)
    assert (len(training), len(validation)) == (7, 3)
    targets = [everything(part).targets for part in (training, validation)]
    assert torch.cat(targets).sort().values.tolist() == list(range(10))
    assert not torch.equal(targets[1], everything(hold_out(source, 0.3, seed=1)[1]).targets)


def test_the_same_share_of_every_class_is_held_out_whatever_the_order_of_the_samples():
    labels = np.array([3, 0, 0, 3, 0, 0, 3, 3, 0, 0, 0, 0])
    training, validation = hold_out_of_classes(labels, 0.25, seed=0, user="mine")
    assert sorted([*training, *validation]) == list(range(12))
    assert np.bincount(labels[validation]).tolist() == [2, 0, 0, 1]


@pytest.mark.parametrize("share", [0, 1, 0.04])
def test_holding_out_too_little_or_too_much_is_refused(share):
    with pytest.raises(DataError, match="both must be at least 1"):
        hold_out(Arrays(torch.zeros(10, 1), torch.zeros(10)), share)


def test_a_portion_is_not_read_ahead_when_its_source_is_not():
    assert hold_out(TorchDataset(Pictures()))[0].ahead is False
    assert hold_out(Arrays(torch.zeros(10, 1), torch.zeros(10)))[0].ahead is True
