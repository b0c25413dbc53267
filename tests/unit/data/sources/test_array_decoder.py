"""Arrays are read from `.npy` files that are whole and alike, and from nothing else."""

import io

import numpy as np
import pytest
import torch

from stretto.data.sources.array_decoder import ArrayDecoder, decode_array


def npy(array, **options):
    content = io.BytesIO()
    np.save(content, array, **options)
    return content.getvalue()


@pytest.mark.parametrize(
    "array, dtype",
    [
        (np.arange(6, dtype=np.float32).reshape(2, 3), torch.float32),
        (np.asfortranarray(np.arange(6.0).reshape(2, 3)), torch.float32),
        (np.arange(4, dtype=">i2"), torch.int16),
        (np.arange(4, dtype=np.uint16), torch.int64),
        (np.array([True, False]), torch.bool),
        (np.array(7, dtype=np.uint8), torch.uint8),
    ],
    ids=["single", "double by columns", "big endian", "wide unsigned", "flags", "scalar"],
)
def test_arrays_come_back_as_torch_has_them(array, dtype):
    decoder = ArrayDecoder(npy(array))
    rows = decoder.room(2)
    decoder.decode(npy(array), rows[0, ...])
    decoder.decode(npy(array), rows[1, ...])
    tensor = decoder.tensor(rows)
    assert (tensor.dtype, tensor.shape) == (dtype, (2, *array.shape))
    assert tensor.tolist() == [array.tolist()] * 2


WHOLE = npy(np.arange(6, dtype=np.float32))


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", r"no \.npy file"),
        (b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16, r"no \.npy file"),
        (WHOLE[:-1], "23 bytes for float32 of shape .6,., which needs 24"),
        (WHOLE + b"x", "25 bytes for float32"),
        (WHOLE.replace(b"(6,)", b"(9" + b"9" * 9 + b",)").replace(b" " * 9, b"", 1), "bytes for float32|no .npy file"),
        (npy(np.array([{"a": 1}]), allow_pickle=True), "an array of object; only numbers are read"),
        (npy(np.array(["a"])), "only numbers are read"),
        (npy(np.zeros(3, dtype="f4,i4")), "only numbers are read"),
    ],
    ids=["empty", "head", "cut", "longer", "lie", "pickle", "words", "records"],
)
def test_what_is_no_whole_array_of_numbers_is_refused(content, words):
    with pytest.raises(ValueError, match=words):
        decode_array(content)


@pytest.mark.parametrize("other", [np.zeros(5, dtype=np.float32), np.zeros((6, 1), dtype=np.float32), np.zeros(6) > 1])
def test_an_array_unlike_the_others_is_refused(other):
    decoder = ArrayDecoder(npy(np.zeros(6, dtype=np.int64)))
    with pytest.raises(ValueError, match=r"of shape .*, but others are int64 of \(6,\)"):
        decoder.decode(npy(other.astype(np.float32)), decoder.room(1)[0])
