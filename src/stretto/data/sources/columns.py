"""Which columns of a table are inputs and which is the target, and how they become arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stretto.data.sources.row_file import Rows
from stretto.errors import DataError, nearest

if TYPE_CHECKING:
    import pyarrow

_LISTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """A decoded part of a table: rows of numbers, and the reasons why some of them, or all, are damaged."""

    inputs: Rows
    targets: Rows
    damages: Mapping[int, str]
    lost: str | None = None

    @property
    def size_bytes(self) -> int:
        """The memory it takes."""
        return self.inputs.nbytes + self.targets.nbytes

    @property
    def is_damaged(self) -> bool:
        """Whether something is wrong with any row."""
        return self.lost is not None or bool(self.damages)

    def reason(self, row: int) -> str | None:
        """Say what is wrong with a row."""
        return self.lost or self.damages.get(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Inputs and target of a table; `classes` are numbers up to it, or those of `names`, and None for regression."""

    inputs: tuple[str, ...]
    target: str
    classes: int | None
    names: tuple[str, ...] | None = None

    def arrange(self, table: pyarrow.Table, damages: Mapping[int, str]) -> Samples:
        """Make arrays of the columns of a part of the table, of which some rows may be known to be damaged."""
        found = dict(damages)
        inputs = _join([self._numbers(table, name, found) for name in self.inputs])
        if self.classes is None:
            targets = self._numbers(table, self.target, found).astype(np.float32)
            return Samples(inputs=inputs, targets=targets[:, 0] if targets.shape[1] == 1 else targets, damages=found)
        return Samples(inputs=inputs, targets=self.labels(table, found), damages=found)

    def _numbers(self, table: pyarrow.Table, name: str, damages: dict[int, str]) -> Rows:
        numbers, empty = numbers_of(table.column(name))
        _note(damages, empty, f'no number in column "{name}"')
        return numbers

    def labels(self, table: pyarrow.Table, damages: dict[int, str]) -> Rows:
        """Return the class of every row, and note which rows have none."""
        column = table.column(self.target)
        if self.names is not None:
            import pyarrow
            import pyarrow.compute

            words = column.cast(pyarrow.string())
            empty = np.asarray(words.is_null())
            column = pyarrow.compute.index_in(words, value_set=pyarrow.array(self.names, pyarrow.string())).fill_null(
                -1
            )
        else:
            empty = np.asarray(column.is_null())
        classes = numbers_of(column)[0][:, 0].astype(np.int64)
        _note(damages, empty, f'no class in column "{self.target}"')
        outside = (classes < 0) | (classes >= (self.classes or 0))
        _note(damages, outside, f'the class in column "{self.target}" is none of the {self.classes} that are known')
        return classes


def choose_columns(schema: pyarrow.Schema, inputs: Sequence[str] | None, target: str) -> tuple[str, ...]:
    """Return the columns of the inputs: those that were named, or all that hold numbers and are not the target."""
    for name in (target, *(inputs or ())):
        _check_known(schema, name)
    if inputs is None:
        inputs = [field.name for field in schema if field.name != target and holds_numbers(field.type)]
    if not inputs:
        raise DataError(f'no column beside "{target}" holds numbers, or lists of them of a fixed length (data.inputs)')
    for name in inputs:
        if not holds_numbers(schema.field(name).type):
            kind = schema.field(name).type
            raise DataError(f'column "{name}" holds {kind}; inputs are numbers, or lists of them of a fixed length')
    return tuple(inputs)


def holds_numbers(kind: Any) -> bool:
    """Whether a column of this type holds numbers, or vectors of them that are all of one length."""
    from pyarrow import types

    if types.is_fixed_size_list(kind):
        return holds_numbers(kind.value_type)
    return any(is_one(kind) for is_one in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal))


def width(kind: Any) -> int:
    """How many numbers a row of this type has."""
    from pyarrow import types

    return int(kind.list_size) * width(kind.value_type) if types.is_fixed_size_list(kind) else 1


def numbers_of(column: pyarrow.ChunkedArray) -> tuple[Rows, Rows]:
    """Return the numbers of a column as a matrix, and which rows lack some."""
    parts = [_matrix(chunk) for chunk in column.chunks] or [
        (np.zeros((0, width(column.type))), np.zeros(0, dtype=bool))
    ]
    return np.concatenate([part for part, _ in parts]), np.concatenate([empty for _, empty in parts])


def _join(parts: Sequence[Rows]) -> Rows:
    alike = {part.dtype for part in parts}
    # Bytes stay bytes until they are read: pictures take a quarter of the memory.
    dtype = parts[0].dtype if len(alike) == 1 and parts[0].dtype.itemsize < 4 else np.dtype(np.float32)
    joined = np.empty((len(parts[0]), sum(part.shape[1] for part in parts)), dtype)
    start = 0
    for part in parts:
        joined[:, start : start + part.shape[1]] = part
        start += part.shape[1]
    return joined


def _matrix(array: pyarrow.Array) -> tuple[Rows, Rows]:
    from pyarrow import float64, types

    empty = np.asarray(array.is_null())
    if types.is_fixed_size_list(array.type):
        size = array.type.list_size
        inner, lacking = _matrix(array.values.slice(array.offset * size, len(array) * size))
        return inner.reshape(len(array), -1), empty | lacking.reshape(len(array), -1).any(axis=1)
    if types.is_decimal(array.type):
        array = array.cast(float64())
    if array.null_count:
        array = array.fill_null(False if types.is_boolean(array.type) else 0)
    return array.to_numpy(zero_copy_only=False)[:, None], empty


def _note(damages: dict[int, str], rows: Rows, reason: str) -> None:
    for row in np.flatnonzero(rows).tolist():
        damages.setdefault(row, reason)


def _check_known(schema: pyarrow.Schema, name: str) -> None:
    if schema.get_field_index(name) < 0:
        meant = nearest(name, schema.names)
        hint = f' (did you mean "{meant}"?)' if meant else ""
        listed = ", ".join(schema.names[:_LISTED]) + (", …" if len(schema.names) > _LISTED else "")
        raise DataError(f'there is no column "{name}"{hint}; there are {listed}')
