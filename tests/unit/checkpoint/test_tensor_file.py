"""The file of one shard is safetensors for everybody, and knows when it has changed."""

import dataclasses
import json

import pytest
import torch
from checkpoint_world import equal, small_state
from safetensors.torch import load

from stretto.checkpoint.tensor_file import DTYPES, decode, encode
from stretto.errors import CheckpointError


def content_of(file):
    return bytearray(b"".join(file.pieces))


def test_the_safetensors_package_reads_the_file():
    state = small_state(1)
    tensors = load(bytes(content_of(encode(120, 0, state))))
    assert equal(tensors["model/weight"], state["model"]["weight"])
    assert tensors.keys() == {"model/weight", "model/count", "rng"}


@pytest.mark.parametrize("dtype", DTYPES.values())
def test_every_type_comes_back_and_is_read_by_others(dtype):
    state = {
        "x": torch.arange(4).to(dtype),
        "scalar": torch.tensor(1).to(dtype),
        "empty": torch.empty(0, 3, dtype=dtype),
    }
    file = encode(1, 0, state)
    content = content_of(file)
    assert equal(decode(file.shard, memoryview(content)), state)
    assert equal(load(bytes(content))["x"], state["x"])


def test_tensors_lie_at_multiples_of_their_elements_in_the_file_and_the_even_ones_first():
    state = {
        "a": torch.zeros(3, dtype=torch.uint8),
        "b": torch.zeros(1, dtype=torch.float64),
        "c": torch.zeros(5),
        "d": torch.zeros(64, dtype=torch.uint8),
    }
    shard = encode(1, 0, state).shard
    assert [entry.name for entry in shard.tensors] == ["d", "b", "c", "a"]
    assert shard.header_bytes % 64 == 0


def test_loaded_tensors_are_aligned_as_those_that_were_never_saved():
    file = encode(1, 0, [torch.ones(number) for number in range(1, 9)])
    assert all(tensor.data_ptr() % 64 == 0 for tensor in decode(file.shard, memoryview(content_of(file))))


def test_every_byte_of_the_file_belongs_to_the_header_or_a_tensor():
    file = encode(1, 0, small_state(1))
    assert file.shard.bytes == len(content_of(file))


def test_what_is_loaded_can_be_written_to():
    file = encode(1, 0, small_state(1))
    decode(file.shard, memoryview(content_of(file)))["model"]["weight"].add_(1)


def test_the_digest_covers_type_and_shape():
    digests = {
        encode(1, 0, {"x": tensor}).shard.tensors[0].digest
        for tensor in (torch.zeros(4), torch.zeros(2, 2), torch.zeros(4, dtype=torch.int32), torch.zeros(4, 1))
    }
    assert len(digests) == 4


def test_a_type_that_safetensors_does_not_know_is_refused_by_name():
    with pytest.raises(CheckpointError, match=r"tensor phase is of torch.complex128"):
        encode(1, 0, {"phase": torch.zeros(1, dtype=torch.complex128)})


def test_a_file_that_matches_its_digests_and_says_nonsense_is_refused():
    file = encode(1, 0, {"x": torch.zeros(4)})
    entry = dataclasses.replace(file.shard.tensors[0], dtype="F99")
    shard = json.loads(json.dumps(dataclasses.replace(file.shard, tensors=(entry,)).to_json()))
    with pytest.raises(CheckpointError, match=r"tensor x in seat-00000.safetensors does not match its digest"):
        decode(type(file.shard).from_json(shard), memoryview(content_of(file)))
