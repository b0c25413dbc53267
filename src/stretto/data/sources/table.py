"""Samples that are rows of tables, of which some parts at a time are decoded and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stretto.data.batch import Batch
from stretto.data.damage import Damage, whole_or_raise
from stretto.data.portion import hold_out
from stretto.data.sources.classes import find_classes
from stretto.data.sources.columns import Columns, Samples, choose_columns, width
from stretto.data.sources.files import is_remote, local_path, refusal
from stretto.data.sources.listing import list_files
from stretto.data.sources.recent import Recent
from stretto.data.sources.row_file import Rows
from stretto.data.sources.table_files import name_of, need_pyarrow
from stretto.data.sources.tables import Tables, damage_errors
from stretto.errors import DataError

if TYPE_CHECKING:
    import pyarrow

    from stretto.data.source import Source

KEPT_BYTES = 2**28


class Table:
    """A source whose samples are rows; the parts decoded last are kept, up to `kept_bytes` in all.

    A part is decoded as a whole, so a part that is larger than the bound takes the memory it takes.
    """

    def __init__(self, tables: Tables, columns: Columns, kept_bytes: int = KEPT_BYTES) -> None:
        self.name, self.blocks = tables.name, tuple(tables.sizes)
        self._tables, self._columns = tables, columns
        self._ends = np.cumsum(self.blocks, dtype=np.int64)
        self._recent = Recent(self._decode, kept_bytes)
        if not len(self):
            raise DataError(f"{self.name}: there are no rows")
        kinds = [tables.schema.field(name).type for name in (*columns.inputs, columns.target)]
        features, outputs = sum(map(width, kinds[:-1])), width(kinds[-1])
        self.facts: dict[str, Any] = {"shape": (features,), "features": features, "outputs": columns.classes or outputs}
        if columns.classes is not None:
            self.facts["classes"] = columns.classes

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def read(self, indices: Sequence[int]) -> Batch:
        """Return rows as float32 inputs, and their classes or numbers."""
        rows = np.array(indices, dtype=np.int64)
        if not 0 <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"{self.name} has {len(self)} rows; {rows.min()} to {rows.max()} were asked for")
        parts = np.searchsorted(self._ends, rows, side="right")
        inputs: Rows | None = None
        damages: dict[int, Damage] = {}
        for part in np.unique(parts).tolist():
            samples, places = self._recent.get(part), np.flatnonzero(parts == part)
            if inputs is None:
                inputs = np.empty((len(rows), *samples.inputs.shape[1:]), np.float32)
                targets = np.empty((len(rows), *samples.targets.shape[1:]), samples.targets.dtype)
            local = rows[places] - (int(self._ends[part]) - self.blocks[part])
            inputs[places], targets[places] = samples.inputs.take(local, axis=0), samples.targets.take(local, axis=0)
            for place, row in zip(places.tolist(), local.tolist(), strict=True) if samples.is_damaged else ():
                if reason := samples.reason(row):
                    file, offset = self._tables.place(part, row)
                    damages[place] = Damage(sample=int(rows[place]), file=file, offset=offset, reason=reason)
        return whole_or_raise(Batch(*map(torch.from_numpy, (inputs, targets, rows))), damages)

    def labels(self) -> Rows:
        """Return the class of every sample, -1 where it is damaged; `DataError` where targets are no classes."""
        if self._columns.classes is None:
            raise DataError(f'{self.name}: the numbers in column "{self._columns.target}" are no classes')
        return np.concatenate([self._labels(part) for part in range(len(self.blocks))])

    def _labels(self, part: int) -> Rows:
        try:
            table, damages = self._table(part, ())
        except damage_errors():
            return np.full(self.blocks[part], -1)
        found = dict(damages)
        labels = self._columns.labels(table, found)
        labels[list(found)] = -1
        return labels

    def _decode(self, part: int) -> Samples:
        try:
            table, damages = self._table(part, self._columns.inputs)
            return self._columns.arrange(table, damages)
        except FileNotFoundError as error:
            raise DataError(f"{error}; it was there when the data was opened") from error
        except damage_errors() as error:
            return self._lost(self.blocks[part], " ".join(str(error).split()))

    def _table(self, part: int, inputs: Sequence[str]) -> tuple[pyarrow.Table, Mapping[int, str]]:
        table, damages = self._tables.decode(part, inputs, self._columns.target)
        if table.num_rows != self.blocks[part]:
            raise OSError(f"{self.blocks[part]} rows were promised, but there are {table.num_rows}")
        return table, damages

    def _lost(self, rows: int, reason: str) -> Samples:
        is_class = self._columns.classes is not None
        shape = () if is_class or self.facts["outputs"] == 1 else (self.facts["outputs"],)
        nothing = np.zeros(1, np.float32)
        return Samples(
            inputs=np.broadcast_to(nothing, (rows, *self.facts["shape"])),
            targets=np.zeros((rows, *shape), np.int64 if is_class else np.float32),
            damages={},
            lost=reason,
        )


def open_files(
    kind: Callable[[list[str]], Tables],
    endings: tuple[str, ...],
    files: tuple[str | list[str], str | list[str] | None],
    columns: tuple[list[str] | None, str],
    held_out: tuple[float, int],
    classes: int | None = None,
) -> tuple[Source, Source]:
    """Open files to train on and to validate with; `columns` are inputs and target, `held_out` is share and seed."""
    need_pyarrow()
    tables = [_opened(kind, list_files(each, endings)) for each in files if each is not None]
    return open_tables(tables, columns, held_out, classes)


def _opened(kind: Callable[[list[str]], Tables], files: list[str]) -> Tables:
    try:
        return kind(files)
    except OSError as error:
        missing = next((each for each in files if not is_remote(each) and not Path(local_path(each)).is_file()), None)
        raise refusal(missing or name_of(files), error) from error


def open_tables(
    tables: Sequence[Tables],
    columns: tuple[list[str] | None, str],
    held_out: tuple[float, int],
    classes: int | None = None,
) -> tuple[Source, Source]:
    """Make sources of tables to train on and to validate with; where the latter are missing, a share is held out."""
    inputs = choose_columns(tables[0].schema, *columns)
    for each in tables[1:]:
        choose_columns(each.schema, inputs, columns[1])
    found, names = find_classes(tables, columns[1], classes)
    chosen = Columns(inputs=inputs, target=columns[1], classes=found, names=names)
    sources = [Table(each, chosen) for each in tables]
    return hold_out(sources[0], *held_out) if len(sources) == 1 else (sources[0], sources[1])
