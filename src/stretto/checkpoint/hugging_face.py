"""A model's weights to and from the file layout of Hugging Face.

`config.json` and `model.safetensors`, or for large models `model-00001-of-0000N.safetensors` with
`model.safetensors.index.json`, whose `weight_map` says which file holds which tensor.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from stretto.checkpoint.weights import CONVERT_PICKLED, read_weights, tie, total_bytes, untie, write_weights
from stretto.errors import CheckpointError

CONFIG_FILE = "config.json"
SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
PICKLED_FILE = "pytorch_model.bin"
WEIGHT_FILE = re.compile(r"model(-\d{5}-of-\d{5})?\.safetensors(\.index\.json)?")


def write_hugging_face(
    folder: Path | str,
    tensors: Mapping[str, Tensor],
    config: Mapping[str, Any] | None = None,
    file_bytes: int = 5_000_000_000,
) -> None:
    """Write a `state_dict` in the layout that `from_pretrained` reads, in files of at most `file_bytes` each.

    Weights of an earlier export in the same folder give way. Tied weights are written once.
    """
    folder = Path(folder)
    kept, aliases = untie(tensors)
    parts = _parts(kept, file_bytes)
    files = [SINGLE_FILE] if len(parts) == 1 else [_part_file(index, len(parts)) for index in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        write_weights(folder / file, tie(part, aliases))
    written = {*files, INDEX_FILE} if len(parts) > 1 else {*files}
    if len(parts) > 1:
        weight_map = {name: file for file, part in zip(files, parts, strict=True) for name in part}
        _write_json(
            folder / INDEX_FILE, {"metadata": {"total_size": total_bytes(kept.values())}, "weight_map": weight_map}
        )
    if config is not None:
        _write_json(folder / CONFIG_FILE, config)
    for stale in folder.iterdir():
        if WEIGHT_FILE.fullmatch(stale.name) and stale.name not in written:
            stale.unlink()


def read_hugging_face(folder: Path | str) -> dict[str, Tensor]:
    """The `state_dict` in a folder of that layout; raises CheckpointError when a file or a tensor is missing."""
    folder = Path(folder)
    if (folder / SINGLE_FILE).exists():
        return read_weights(folder / SINGLE_FILE)
    if not (folder / INDEX_FILE).exists():
        raise CheckpointError(_nothing_there(folder))
    weight_map = _weight_map(folder / INDEX_FILE)
    tensors: dict[str, Tensor] = {}
    for file in sorted(set(weight_map.values())):
        tensors |= read_weights(folder / file)
    missing = sorted(weight_map.keys() - tensors.keys())
    if missing:
        raise CheckpointError(f"{folder / INDEX_FILE} names tensors that are in no file: {', '.join(missing)}")
    return tensors


def read_config(folder: Path | str) -> dict[str, Any]:
    """What `config.json` says; raises CheckpointError when there is none."""
    content = _read_json(Path(folder) / CONFIG_FILE)
    if not isinstance(content, dict):
        raise CheckpointError(f"{Path(folder) / CONFIG_FILE} holds no JSON object")
    return content


def _parts(tensors: Mapping[str, Tensor], file_bytes: int) -> list[dict[str, Tensor]]:
    """The tensors in order, a new part whenever the next one would not fit; one that never fits stands alone."""
    parts: list[dict[str, Tensor]] = [{}]
    for name, tensor in tensors.items():
        if parts[-1] and total_bytes(parts[-1].values()) + tensor.nbytes > file_bytes:
            parts.append({})
        parts[-1][name] = tensor
    return parts


def _part_file(index: int, count: int) -> str:
    return f"model-{index + 1:05d}-of-{count:05d}.safetensors"


def _weight_map(path: Path) -> dict[str, str]:
    content = _read_json(path)
    weight_map = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(weight_map, dict):
        raise CheckpointError(f"{path} holds no weight_map")
    for file in weight_map.values():
        if not isinstance(file, str) or Path(file).name != file:
            raise CheckpointError(f"{path} names {file!r}, which is no file of this folder")
    return weight_map


def _nothing_there(folder: Path) -> str:
    if (folder / PICKLED_FILE).exists():
        command = CONVERT_PICKLED.format(old=folder / PICKLED_FILE, new=folder / SINGLE_FILE)
        return (
            f"{folder} holds only pickled weights, which are never loaded; if you trust them, convert them: {command}"
        )
    return f"{folder} holds neither {SINGLE_FILE} nor {INDEX_FILE}"


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} does not exist") from error
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON: {error}") from error


def _write_json(path: Path, content: Any) -> None:
    try:
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise CheckpointError(f"{path} could not be written: {error}") from error
