"""Files of tokens: windows in their order, over several files, however large these are."""

import os

import numpy as np
import pytest
import torch
from data_world import resident_bytes

from stretto.data.damage import DamagedSamples
from stretto.data.sources.row_file import RowFile
from stretto.data.sources.tokens import tokens
from stretto.data.sources.windows import Stretch, Windows, open_numbers
from stretto.errors import DataError


def write_tokens(path, start, stop, dtype="uint16"):
    numbers = np.arange(start, stop, dtype=dtype)
    np.save(path, numbers) if path.suffix == ".npy" else numbers.tofile(path)
    return str(path)


def everything(source):
    return source.read(range(len(source)))


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int32", "int64"])
@pytest.mark.parametrize("ending", [".bin", ".npy"])
def test_every_token_is_followed_by_its_target(tmp_path, dtype, ending):
    path = write_tokens(tmp_path / f"x{ending}", 0, 1000, dtype)
    known = {"dtype": dtype} if ending == ".bin" else {}  # a .npy file knows its own
    training, validation = tokens(path, length=9, share=0.2, vocabulary=1000, **known)
    batch = everything(training)
    assert batch.inputs.flatten().tolist() == list(range(88 * 9))
    assert torch.equal(batch.targets, batch.inputs + 1)
    assert everything(validation).inputs[0, 0] == 800
    assert training.facts == {"shape": (9,), "features": 9, "length": 9, "vocabulary": 1000}


def test_several_files_are_one_set_whose_end_validates(tmp_path):
    for name, start, stop in (("b.bin", 100, 150), ("a.bin", 0, 100), ("c.bin", 150, 200)):
        write_tokens(tmp_path / name, start, stop)
    (tmp_path / "meta.txt").write_text("no tokens")
    for files in (
        str(tmp_path),
        str(tmp_path / "*.bin"),
        [str(tmp_path / name) for name in ("a.bin", "b.bin", "c.bin")],
    ):
        training, validation = tokens(files, length=10, share=0.3)
        assert everything(training).inputs[:, 0].tolist() == [*range(0, 90, 10), *range(100, 130, 10)]
        assert everything(validation).inputs[:, 0].tolist() == [150, 160, 170, 180]
    training, validation = tokens(
        str(tmp_path / "a.bin"), length=10, validation_files=[str(tmp_path / "c.bin"), str(tmp_path / "b.bin")]
    )
    assert [len(training), len(validation)] == [9, 8]
    assert validation.read([4, 3]).inputs[:, 0].tolist() == [100, 180]


def test_the_vocabulary_is_what_the_type_counts_or_what_was_said(tmp_path):
    assert tokens(write_tokens(tmp_path / "x.bin", 0, 99), length=4)[0].facts["vocabulary"] == 65536
    assert tokens(write_tokens(tmp_path / "x.npy", 0, 99, "uint8"), length=4)[0].facts["vocabulary"] == 256
    with pytest.raises(DataError, match="not known of numbers of 32 bits; say vocabulary"):
        tokens(write_tokens(tmp_path / "x.bin", 0, 99, "int32"), length=4, dtype="int32")


def test_a_token_outside_the_vocabulary_damages_its_window_only(tmp_path):
    numbers = np.zeros(100, dtype=np.int32)
    numbers[[33, 71]] = [50, -1]
    np.save(tmp_path / "x.npy", numbers)
    source, _ = tokens(str(tmp_path / "x.npy"), length=10, share=0.15, vocabulary=50)
    with pytest.raises(DamagedSamples) as found:
        source.read([7, 0, 3, 1])
    assert [(each.sample, each.offset) for each in found.value.damages] == [(7, 128 + 71 * 4), (3, 128 + 33 * 4)]
    assert found.value.damages[1].reason == "token 50 is none of the 50 of the vocabulary"
    assert found.value.rest.indices.tolist() == [0, 1]


def test_a_hundred_gigabytes_open_at_once_and_read_from_anywhere(tmp_path):
    (tmp_path / "x.bin").touch()
    os.truncate(tmp_path / "x.bin", 100 * 10**9)  # a hole: it takes no room on the disk
    with (tmp_path / "x.bin").open("r+b") as file:
        file.seek(2 * 1024 * 40_000_000)
        np.arange(1025, dtype=np.uint16).tofile(file)
    training, validation = tokens(str(tmp_path / "x.bin"))
    assert training.read([40_000_000]).targets.tolist() == [list(range(1, 1025))]
    assert everything_is_zero(validation.read([len(validation) - 1, 0]))


def everything_is_zero(batch):
    return not batch.inputs.any() and not batch.targets.any()


def test_memory_does_not_grow_with_the_windows_that_were_read(tmp_path):
    path = write_tokens(tmp_path / "x.bin", 0, 10_000_000, "uint32")
    mapped = np.memmap(path, np.uint32, "r")
    stretch = open_numbers(path, mapped, mapped_bytes=2**20)
    assert isinstance(stretch.numbers, RowFile)
    source = Windows([stretch], 1000, 10_000_000, "x")
    before = resident_bytes()
    for start in np.random.default_rng(0).permutation(len(source) // 100).tolist():
        assert source.read(range(start * 100, start * 100 + 100)).inputs[3, 0] == (start * 100 + 3) * 1000
    assert resident_bytes() - before < 10e6  # of 40


def test_windows_do_not_go_from_one_stretch_into_the_next():
    numbers = np.arange(100)
    source = Windows(
        [Stretch("x", numbers, 0, 25), Stretch("x", numbers, 50, 53), Stretch("x", numbers, 60, 81)], 10, 99, "x"
    )
    assert source.read(range(4)).inputs[:, 0].tolist() == [0, 10, 60, 70]
    with pytest.raises(IndexError, match="has 4 windows"):
        source.read([4])


@pytest.mark.parametrize(
    "name, content, options, words",
    [
        ("x.bin", b"", {}, "has 0 bytes, which are no tokens of 2 bytes each; say dtype"),
        ("x.bin", b"123", {}, "has 3 bytes, which are no tokens"),
        ("x.bin", b"12" * 8, {}, "8 tokens hold no window of 8 tokens and the token after it"),
        ("x.bin", b"12" * 99, {"length": 0}, "no window of 0 tokens"),
        ("x.bin", b"12" * 99, {"share": 1.0}, "leaves nothing on one side"),
        ("x.bin", b"12" * 99, {"dtype": "uint61"}, r'dtype "uint61" is unknown; .*did you mean "uint16"'),
        ("y.bin", b"12" * 99, {}, r"x.bin does not exist"),
        ("x.npy", b"12" * 99, {"files": "x.npy"}, r"x\.npy is no whole \.npy file"),
        (
            "x.npy",
            np.zeros((9, 9), dtype=int),
            {"files": "x.npy"},
            r"int64 with shape \(9, 9\); tokens are whole numbers",
        ),
        ("x.npy", np.zeros(9), {"files": "x.npy"}, r"holds float64 with shape"),
        ("x.bin", b"", {"files": "memory://x.bin"}, r"memory://x.bin cannot be mapped into memory; copy it to a disk"),
    ],
)
def test_tokens_that_cannot_be_used_are_refused(tmp_path, monkeypatch, name, content, options, words):
    import fsspec

    monkeypatch.chdir(tmp_path)
    with fsspec.open("memory://x.bin", "wb") as file:
        file.write(b"12")
    np.save(name, content) if isinstance(content, np.ndarray) else (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=words):
        tokens(**{"files": "x.bin", "length": 8} | options)
