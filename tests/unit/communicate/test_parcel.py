"""Parcels in a block of memory: what is written is read, and no description reaches beyond its block."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stretto.communicate.parcel import ALIGNMENT_BYTES, DTYPES, Place, lay_out, read, write
from stretto.errors import DataError, WireError

SHAPES = [(), (0,), (1,), (7,), (3, 0, 2), (5, 3), (2, 3, 4, 5)]
UNUSUAL = {
    "transposed": torch.arange(12).reshape(3, 4).T,
    "every second": torch.arange(100.0)[::2],
    "repeated": torch.arange(3).expand(4, 3),
    "channels last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "conjugated": torch.randn(3, dtype=torch.complex64).conj(),
    "negated": torch.randn(3, dtype=torch.complex64).conj().imag,
    "learning": torch.randn(3, requires_grad=True),
    "not at the beginning": torch.arange(10, dtype=torch.uint8)[3:],
}


def block_of(size):
    return torch.zeros(size, dtype=torch.uint8)


def carried(tensors):
    places, size = lay_out(tensors)
    block = block_of(size)
    write(tensors, places, block)
    return read(places, block)


def content(tensor):
    return (tensor.dtype, tensor.shape, bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist()))


@pytest.mark.parametrize("name", DTYPES)
def test_every_kind_of_number_in_every_shape_comes_out_as_it_went_in(name):
    tensors = [torch.randint(0, 2, shape).to(DTYPES[name]) for shape in SHAPES]
    assert [content(each) for each in carried(tensors)] == [content(each) for each in tensors]


@pytest.mark.parametrize("name", UNUSUAL)
def test_tensors_that_lie_in_unusual_ways_come_out_plain(name):
    [tensor] = carried([UNUSUAL[name]])
    assert torch.equal(tensor, UNUSUAL[name])
    assert tensor.is_contiguous() and not tensor.requires_grad


def test_every_tensor_lies_where_pytorch_itself_would_put_it():
    tensors = [torch.ones(size, dtype=torch.int8) for size in (1, 63, 64, 65, 0, 3)]
    places, size = lay_out(tensors)
    assert [place.offset for place in places] == [0, 64, 128, 192, 320, 320]
    assert size == 384
    assert all(each.data_ptr() % ALIGNMENT_BYTES == 0 for each in carried(tensors) if len(each))


def test_what_was_read_is_the_block_itself():
    places, size = lay_out([torch.zeros(4)])
    block = block_of(size)
    [tensor] = read(places, block)
    tensor += 1
    assert torch.equal(block[:16].view(torch.float32), torch.ones(4))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(2, 2).to_sparse(),
        torch.empty(2, device="meta"),
    ],
)
def test_tensors_that_cannot_travel_are_named_with_the_remedy(tensor):
    with pytest.raises(DataError, match=r"tensor 1 of a batch cannot travel: it is torch\..*; hand out dense tensors"):
        lay_out([torch.ones(1), tensor])


@pytest.mark.parametrize(
    "place",
    [
        Place(0, "float32", (33,)),
        Place(64, "float32", (17,)),
        Place(128, "int8", (1,)),
        Place(-64, "int8", (1,)),
        Place(4, "int8", (1,)),
        Place(0, "int8", (-1,)),
        Place(0, "int8", (-1, -1)),
        Place(0, "int8", (2**62, 2**62)),
        Place(0, "int8", (2**64, 0)),
        Place(0, "object", (1,)),
        Place(2**70, "int8", (0,)),
    ],
)
def test_a_description_that_reaches_out_of_its_block_is_refused(place):
    with pytest.raises(WireError, match="a parcel was refused"):
        read([place], block_of(128))


@given(
    st.integers(-(2**70), 2**70) | st.sampled_from([0, 64]),
    st.sampled_from([*DTYPES, "", "qint8", "x" * 1000]),
    st.lists(st.integers(-(2**65), 2**65) | st.integers(0, 9), max_size=70),
)
def test_whatever_is_described_is_within_the_block_or_refused(offset, dtype, shape):
    block = block_of(192)
    try:
        [tensor] = read([Place(offset, dtype, tuple(shape))], block)
    except WireError:
        return
    assert tensor.numel() == 0 or 0 <= tensor.data_ptr() - block.data_ptr() <= 192 - tensor.nbytes
    assert list(tensor.shape) == shape
