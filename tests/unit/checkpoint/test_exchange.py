"""Weights to and from files that other programs read and write, without a pickle being loaded."""

import json
import subprocess
import sys

import pytest
import torch
from checkpoint_world import equal
from safetensors.torch import load_file, save_file, save_model
from torch.distributed.checkpoint import FileSystemWriter, save

from stretto.checkpoint.distributed import CONVERT_PICKLED, read_distributed, write_distributed
from stretto.checkpoint.hugging_face import read_config, read_hugging_face, write_hugging_face
from stretto.checkpoint.weights import read_weights, write_weights
from stretto.errors import CheckpointError


class Tied(torch.nn.Module):
    """A model whose head is its embedding."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(5, 3)
        self.middle = torch.nn.Linear(3, 3)
        self.head = torch.nn.Linear(3, 5, bias=False)
        self.head.weight = self.embedding.weight


@pytest.fixture
def state():
    torch.manual_seed(3)
    return {
        **Tied().state_dict(),
        "half": torch.randn(2).bfloat16(),
        "scalar": torch.tensor(7),
        "turned": torch.randn(2, 3).t(),
    }


@pytest.fixture(autouse=True)
def no_pickle(monkeypatch):
    """Loading any pickle in these tests is an error."""

    def refuse(*arguments, **options):
        raise AssertionError("a pickle was loaded")

    monkeypatch.setattr("pickle.load", refuse)
    monkeypatch.setattr("pickle.loads", refuse)
    monkeypatch.setattr("torch.load", refuse)


def test_a_state_dict_goes_through_a_file_and_tied_weights_stay_tied(state, tmp_path):
    write_weights(tmp_path / "new" / "model.safetensors", state)
    back = read_weights(tmp_path / "new" / "model.safetensors")
    assert back.keys() == state.keys()
    assert all(equal(back[name], state[name]) for name in state)
    assert back["head.weight"] is back["embedding.weight"]
    assert "head.weight" not in load_file(tmp_path / "new" / "model.safetensors")


def test_a_file_of_the_safetensors_package_with_tied_weights_is_read(tmp_path):
    model = Tied()
    save_model(model, str(tmp_path / "model.safetensors"))
    Tied().load_state_dict(read_weights(tmp_path / "model.safetensors"), strict=True)


def test_parts_of_one_tensor_are_written_each_for_itself(tmp_path):
    whole = torch.arange(6.0)
    state = {"whole": whole, "first": whole[:3], "last": whole[3:]}
    write_weights(tmp_path / "model.safetensors", state)
    back = read_weights(tmp_path / "model.safetensors")
    assert all(equal(back[name], state[name]) for name in state)


def test_a_pickled_file_is_refused_with_the_command_that_converts_it(state, tmp_path):
    torch.save(state, tmp_path / "model.pt")
    with pytest.raises(
        CheckpointError, match=r"no whole safetensors file .* convert it with: python -c .*model.safetensors"
    ):
        read_weights(tmp_path / "model.pt")
    with pytest.raises(CheckpointError, match=r"absent does not exist"):
        read_weights(tmp_path / "absent")


def test_the_hugging_face_layout_with_one_file(state, tmp_path):
    write_hugging_face(tmp_path, state, config={"model_type": "tied", "hidden_size": 3})
    assert sorted(each.name for each in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    back = read_hugging_face(tmp_path)
    assert back.keys() == state.keys()
    assert all(equal(back[name], state[name]) for name in state)
    assert read_config(tmp_path) == {"model_type": "tied", "hidden_size": 3}


def test_the_hugging_face_layout_with_several_files_and_an_index(state, tmp_path):
    write_hugging_face(tmp_path, state)
    write_hugging_face(tmp_path, state, file_bytes=64)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    files = sorted(each.name for each in tmp_path.glob("*.safetensors"))
    assert files == [f"model-{number:05d}-of-{len(files):05d}.safetensors" for number in range(1, len(files) + 1)]
    assert len(files) > 1
    assert sorted(set(index["weight_map"].values())) == files
    assert index["metadata"]["total_size"] == sum(
        tensor.nbytes for file in files for tensor in load_file(tmp_path / file).values()
    )
    back = read_hugging_face(tmp_path)
    assert back.keys() == state.keys()
    assert all(equal(back[name], state[name]) for name in state)
    assert back["head.weight"] is back["embedding.weight"]


def test_an_index_that_leads_out_of_its_folder_or_names_what_is_not_there_is_refused(tmp_path):
    save_file({"a": torch.zeros(1)}, tmp_path / "model-00001-of-00001.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../model-00001-of-00001.safetensors"}}))
    with pytest.raises(CheckpointError, match=r"which is no file of this folder"):
        read_hugging_face(tmp_path)
    index.write_text(json.dumps({"weight_map": {"b": "model-00001-of-00001.safetensors"}}))
    with pytest.raises(CheckpointError, match=r"names tensors that are in no file: b"):
        read_hugging_face(tmp_path)
    for content in ("[]", "{", '{"weight_map": 3}'):
        index.write_text(content)
        with pytest.raises(CheckpointError, match=r"index\.json"):
            read_hugging_face(tmp_path)


def test_a_folder_without_weights_or_with_pickled_ones_says_what_to_do(tmp_path):
    with pytest.raises(CheckpointError, match=r"holds neither model.safetensors nor model.safetensors.index.json"):
        read_hugging_face(tmp_path)
    with pytest.raises(CheckpointError, match=r"config.json does not exist"):
        read_config(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(
        CheckpointError, match=r"only pickled weights, which are never loaded; .* convert them: python -c"
    ):
        read_hugging_face(tmp_path)


def test_a_distributed_checkpoint_goes_out_and_comes_back(state, tmp_path):
    write_distributed(tmp_path / "dcp", state)
    back = read_distributed(tmp_path / "dcp")
    assert back.keys() == state.keys()
    assert all(equal(back[name], state[name]) for name in state)
    assert not list((tmp_path / "dcp").glob("*.metadata"))


@pytest.mark.filterwarnings("ignore:torch.distributed is")
def test_a_distributed_checkpoint_written_in_pieces_is_read_whole(state, tmp_path):
    from torch.distributed.checkpoint import HuggingFaceStorageWriter

    untied = {name: tensor.clone().contiguous() for name, tensor in state.items()}
    save(untied, storage_writer=HuggingFaceStorageWriter(str(tmp_path / "dcp"), save_distributed=True), no_dist=True)
    assert [each.name for each in (tmp_path / "dcp").iterdir()] == ["shard-00001-model-00001-of-00001.safetensors"]
    back = read_distributed(tmp_path / "dcp")
    assert all(equal(back[name], state[name]) for name in state)


@pytest.mark.filterwarnings("ignore:torch.distributed is")
def test_the_pickled_form_is_refused_and_the_command_shown_converts_it(tmp_path):
    tensors = {"weight": torch.randn(3, 2), "count": torch.tensor(4)}
    save({"model": tensors}, storage_writer=FileSystemWriter(tmp_path / "old"), no_dist=True)
    with pytest.raises(
        CheckpointError, match=r"pickled metadata, which is never loaded; .* convert it with: python -c"
    ):
        read_distributed(tmp_path / "old")
    command = CONVERT_PICKLED.format(old=tmp_path / "old", new=tmp_path / "new").replace("python", sys.executable, 1)
    subprocess.run(command, shell=True, check=True, capture_output=True, timeout=50)  # noqa: S602
    back = read_distributed(tmp_path / "new")
    assert back.keys() == {"model.weight", "model.count"}
    assert all(equal(back[f"model.{name}"], tensors[name]) for name in tensors)


def test_a_folder_that_is_no_distributed_checkpoint_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"holds no distributed checkpoint"):
        read_distributed(tmp_path)
    with pytest.raises(CheckpointError, match=r"is no folder"):
        read_distributed(tmp_path / "absent")
    (tmp_path / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match=r"could not be read as a distributed checkpoint"):
        read_distributed(tmp_path)
