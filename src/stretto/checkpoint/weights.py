"""A model's weights to and from one safetensors file, the plain `state_dict` that any other program can read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from stretto.checkpoint.tree import identity
from stretto.errors import CheckpointError

CONVERT_PICKLED = (
    'python -c "import sys, torch; from safetensors.torch import save_file; '
    'save_file(torch.load(sys.argv[1], weights_only=True), sys.argv[2])" {old} {new}'
)


def write_weights(path: Path | str, tensors: Mapping[str, Tensor]) -> None:
    """Write a `state_dict` as one safetensors file.

    Tied weights are written once; the other names go into the file's metadata, as Hugging Face does it, and
    `read_weights` ties them again.

    >>> write_weights("digits.safetensors", model.state_dict())        # doctest: +SKIP
    >>> model.load_state_dict(read_weights("digits.safetensors"))        # doctest: +SKIP
    """
    kept, aliases = untie(tensors)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        save_file({name: each.detach().cpu().contiguous() for name, each in kept.items()}, path, _metadata(aliases))
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} could not be written: {error}") from error


def read_weights(path: Path | str) -> dict[str, Tensor]:
    """The `state_dict` in a safetensors file; raises CheckpointError for anything else, above all for pickled files."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dictionary)
            return tie(tensors, file.metadata() or {})
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} does not exist") from error
    except (SafetensorError, OSError) as error:
        command = CONVERT_PICKLED.format(old=path, new=Path(path).with_suffix(".safetensors"))
        remedy = f"if it was written by torch.save and you trust it, convert it with: {command}"
        raise CheckpointError(f"{path} is no whole safetensors file ({error}); {remedy}") from error


def untie(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors without those that are another one under a second name, and these names with the name kept.

    Views that only overlap are kept, as copies of their own.
    """
    kept: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    first: dict[object, str] = {}
    for name, tensor in tensors.items():
        known = first.setdefault(identity(tensor), name) if tensor.numel() else name
        if known == name:
            kept[name] = tensor
        else:
            aliases[name] = known
    return untangle(kept), aliases


def tie(tensors: dict[str, Tensor], aliases: Mapping[str, str]) -> dict[str, Tensor]:
    """The tensors with the names that `untie` took away; metadata that speaks of something else is passed over."""
    tied = {name: tensors[kept] for name, kept in aliases.items() if kept in tensors and name not in tensors}
    return {**tensors, **tied}


def total_bytes(tensors: Iterable[Tensor]) -> int:
    """What the tensors take in a file."""
    return sum(tensor.nbytes for tensor in tensors)


def untangle(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, with copies of those that share memory with an earlier one: safetensors refuses to write them."""
    seen: set[int] = set()
    apart: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        place = tensor.untyped_storage().data_ptr()
        apart[name] = tensor.clone() if place in seen else tensor
        seen.add(place)
    return apart


def _metadata(aliases: Mapping[str, str]) -> dict[str, str]:
    return {"format": "pt", **aliases}
