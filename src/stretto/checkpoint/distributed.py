"""A model's weights to and from PyTorch's distributed checkpoint, in its safetensors form, which holds no pickle.

PyTorch's older form keeps its metadata pickled (`.metadata`), and reading a pickle may run any program. So that form is
refused, with the command by which its owner converts it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from stretto.checkpoint.weights import untangle
from stretto.errors import CheckpointError

CONVERT_PICKLED = (
    'python -c "import sys; '
    "from torch.distributed.checkpoint import FileSystemReader as Reader, HuggingFaceStorageWriter as Writer, save; "
    "from torch.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys as load; "
    'save(load(storage_reader=Reader(sys.argv[1])), storage_writer=Writer(sys.argv[2]), no_dist=True)" {old} {new}'
)


def write_distributed(folder: Path | str, tensors: Mapping[str, Tensor]) -> None:
    """Write a `state_dict` as a distributed checkpoint that `HuggingFaceStorageReader` loads with any sharding.

    The format knows no tied weights: they are written under each of their names.
    """
    state = {name: tensor.detach().contiguous() for name, tensor in untangle(tensors).items()}
    with _explained(folder, "written"):
        save(state, storage_writer=HuggingFaceStorageWriter(str(folder)), no_dist=True)


def read_distributed(folder: Path | str) -> dict[str, Tensor]:
    """The `state_dict` in a distributed checkpoint, whole, however many processes wrote it in pieces."""
    folder = Path(folder)
    _refuse_pickled(folder)
    with _explained(folder, "read"):
        described = HuggingFaceStorageReader(str(folder)).read_metadata().state_dict_metadata
        state = {
            name: torch.empty(each.size, dtype=each.properties.dtype)  # type: ignore[union-attr]
            for name, each in described.items()
        }
        load(state, storage_reader=HuggingFaceStorageReader(str(folder)), no_dist=True)
    return state


def _refuse_pickled(folder: Path) -> None:
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is no folder")
    if any(folder.glob("*.safetensors")):
        return
    if any(folder.glob("*.metadata")):
        command = CONVERT_PICKLED.format(old=folder, new=f"{folder}-converted")
        fact = f"{folder} keeps pickled metadata, which is never loaded"
        raise CheckpointError(f"{fact}; if you trust it, convert it with: {command}")
    raise CheckpointError(f"{folder} holds no distributed checkpoint (no .safetensors file)")


@contextmanager
def _explained(folder: Path | str, what: str) -> Iterator[None]:
    """Turn what PyTorch raises into a CheckpointError; its own exception is not even an Exception."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="torch.distributed is")  # one process is what is meant here
            yield
    except CheckpointException as error:
        causes = "; ".join(str(cause) for cause, _ in error.failures.values())
        raise CheckpointError(f"{folder} could not be {what} as a distributed checkpoint: {causes}") from error
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise CheckpointError(f"{folder} could not be {what} as a distributed checkpoint: {error}") from error
