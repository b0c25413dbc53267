"""Data sets that the package `datasets` saved with `save_to_disk`, read without that package."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from stretto.data.sources.arrow import ArrowTables
from stretto.data.sources.table import open_tables
from stretto.data.sources.table_files import need_pyarrow, open_table
from stretto.errors import DataError, choose

if TYPE_CHECKING:
    from stretto.data.source import Source

_STATE, _SPLITS, _DESCRIPTION = "state.json", "dataset_dict.json", "dataset_info.json"
_VALIDATION_SPLITS = ("validation", "test")


def hugging_face(
    folder: str,
    target: str,
    inputs: str | list[str] | None = None,
    split: str = "train",
    validation_split: str | None = None,
    share: float = 0.2,
    seed: int = 0,
) -> tuple[Source, Source]:
    """Open a saved Dataset, of which a `share` is held out, or a DatasetDict, of which two splits are taken.

    Without `validation_split` that is "validation", or "test", or a share of the training split where there is neither.
    Columns are taken as `parquet` does; of a ClassLabel the number of classes is that of its names.
    """
    need_pyarrow()
    folders = _splits(folder.rstrip("/"), split, validation_split)
    tables = [_open(each) for each in folders]
    classes = [_classes(each, target) for each in folders]
    listed = [inputs] if isinstance(inputs, str) else inputs
    return open_tables(tables, (listed, target), (share, seed), classes[0])


def _splits(folder: str, split: str, validation_split: str | None) -> list[str]:
    described = _read(f"{folder}/{_SPLITS}")
    if described is None:
        if validation_split is not None:
            raise DataError(f"{folder} holds one Dataset without splits; leave validation_split out, and give a share")
        return [folder]
    known = described.get("splits", [])
    if validation_split is None:
        validation_split = next((each for each in _VALIDATION_SPLITS if each in known and each != split), None)
    wanted = [split] if validation_split is None else [split, validation_split]
    for each in wanted:
        if each not in known:
            raise DataError(f"{folder}: {choose('split', each, known)}")
    return [f"{folder}/{each}" for each in wanted]


def _open(folder: str) -> ArrowTables:
    state = _read(f"{folder}/{_STATE}")
    if state is None:
        raise DataError(f"{folder} is no saved data set, it has no {_STATE}; save one with Dataset.save_to_disk")
    if state.get("_indices_data_files"):
        raise DataError(f"{folder} holds a selection of rows; call flatten_indices() before save_to_disk()")
    files = [f"{folder}/{each['filename']}" for each in state.get("_data_files", [])]
    if not files:
        raise DataError(f"{folder}/{_STATE} names no files; save the data set anew")
    try:
        return ArrowTables(files)
    except FileNotFoundError as error:
        raise DataError(f"{folder}: a file is missing that {_STATE} names: {error}") from error


def _classes(folder: str, target: str) -> int | None:
    """How many names a ClassLabel has; None where the target is something else, or nothing is said of it."""
    features = (_read(f"{folder}/{_DESCRIPTION}") or {}).get("features") or {}
    names = (features.get(target) or {}).get("names")
    return len(names) if names else None


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open_table(path) as file:
            content = json.loads(file.read())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DataError(f"{path} is no JSON: {error}; save the data set anew") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} holds no description of a data set; save it anew")
    return content
