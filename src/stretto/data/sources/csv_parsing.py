"""Parsing lines of CSV with pyarrow: fast while they are sound, and row by row where they are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stretto.data.sources.columns import holds_numbers
from stretto.errors import DataError

if TYPE_CHECKING:
    import pyarrow

_LOOKED_AT_BYTES = 2**20
_QUOTED = 40
_MOST_DAMAGED = 0.1
_ILLEGIBLE = "\ufffd"
_PACKED = {b"\x1f\x8b": "gzip", b"BZ": "bzip2", b"\x28\xb5": "zstd", b"\xfd7": "xz", b"PK": "zip"}


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a file, its size, and the columns with the types that the lines after it suggest."""

    file: str
    size: int
    names: tuple[str, ...]
    delimiter: str
    schema: pyarrow.Schema

    @classmethod
    def read(cls, file: str, opened: pyarrow.NativeFile) -> Header:
        """Read the names and look at the first lines; `DataError` where there is no header."""
        from pyarrow import schema

        start = opened.read_at(_LOOKED_AT_BYTES, 0)
        if start[:2] in _PACKED:
            raise DataError(f"{file} is packed by {_PACKED[start[:2]]}; rows are read by number, so unpack it first")
        size = start.find(b"\n") + 1
        if not start[:size].strip():
            raise DataError(
                f"{file} has {opened.size()} bytes and no header with lines after it; give names, then rows"
            )
        line = _legible(start[:size].rstrip(b"\r\n")) + b"\n"
        delimiter = "\t" if file.endswith(".tsv") else ","
        names = _read(line + line, None, delimiter).schema.names
        if all(_is_number(name) for name in names):
            raise DataError(f"{file} begins with {start[:_QUOTED]!r}; the first line must name the columns")
        lines = start[size : start.rfind(b"\n") + 1] or start[size:] or b"\n"
        sample = _read(_legible(lines), names, delimiter, skip=lambda row: "skip")
        return cls(file, size, tuple(names), delimiter, schema([(name, _guess(sample.column(name))) for name in names]))

    def like(self, first: pyarrow.Schema) -> pyarrow.Schema:
        """Return these columns with the types that the first file has: other values are damaged."""
        from pyarrow import schema

        return schema([(name, first.field(name).type) for name in self.names if name in first.names])


def kinds_of(schema: pyarrow.Schema, inputs: Sequence[str], target: str) -> dict[str, Any]:
    """Return the types of which the columns shall be: inputs may have whole numbers in the first lines only."""
    from pyarrow import float32

    return {name: float32() for name in inputs} | {target: schema.field(target).type}


def parse(
    content: bytes, header: Header, count: int, kinds: Mapping[str, Any]
) -> tuple[pyarrow.Table, Mapping[int, str]]:
    """Parse `count` lines; where that fails, find the lines that are to blame, which are rows without values then.

    Raises `ArrowInvalid` where lines and rows are not the same: where a value has a line break in it.
    """
    from pyarrow import ArrowInvalid

    try:
        table = _read(content, header.names, header.delimiter, kinds)
        if table.num_rows == count:
            return _without_empty_words(table), {}
    except ArrowInvalid:
        pass
    return _parse_damaged(content, header, count, kinds)


def _parse_damaged(
    content: bytes, header: Header, count: int, kinds: Mapping[str, Any]
) -> tuple[pyarrow.Table, Mapping[int, str]]:
    from pyarrow import ArrowInvalid, string, table

    damages: dict[int, str] = {}

    def note(row: Any) -> str:
        damages[row.number - 1] = f"{row.actual_columns} values instead of {row.expected_columns}"
        return "skip"

    found = _read(_legible(content), header.names, header.delimiter, dict.fromkeys(kinds, string()), note)
    if found.num_rows + len(damages) != count:
        raise ArrowInvalid(
            f"{count} lines hold {found.num_rows + len(damages)} rows; a value must not have a line break"
        )
    rows = [row for row in range(count) if row not in damages]
    columns = {}
    for name, kind in kinds.items():
        values, bad = _convert(found.column(name).combine_chunks(), kind)
        for place in np.flatnonzero(bad).tolist():
            text = found.column(name)[place].as_py()[:_QUOTED]
            if text.strip():
                damages.setdefault(rows[place], f'"{text}" in column "{name}" is no {_called(kind)}')
        columns[name] = values
    places = np.full(count, -1)
    places[rows] = np.arange(len(rows))
    return _without_empty_words(_spread(table(columns), places)), damages


def _read(
    content: bytes,
    names: Sequence[str] | None,
    delimiter: str,
    kinds: Mapping[str, Any] | None = None,
    skip: Callable[[Any], str] | None = None,
) -> pyarrow.Table:
    from pyarrow import BufferReader
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    return read_csv(
        BufferReader(content),
        ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=names),
        ParseOptions(delimiter=delimiter, ignore_empty_lines=False, invalid_row_handler=skip),
        ConvertOptions(column_types=kinds, include_columns=None if kinds is None else list(kinds)),
    )


def _guess(column: pyarrow.ChunkedArray) -> Any:
    """The type of most values: single damaged ones must not make words of a column of numbers."""
    from pyarrow import float32, int64, types

    if not types.is_string(column.type):
        return column.type
    values = column.combine_chunks()
    for kind in (int64(), float32()):
        if _convert(values, kind)[1].sum() < len(values) * _MOST_DAMAGED:
            return kind
    return column.type


def _convert(values: pyarrow.Array, kind: Any) -> tuple[pyarrow.Array, Any]:
    """Convert texts, and say which cannot be: by halves, so that few bad ones among many are found quickly."""
    from pyarrow import ArrowInvalid, concat_arrays, nulls, types
    from pyarrow.compute import match_substring, utf8_trim_whitespace

    if types.is_string(kind):
        return values, np.asarray(match_substring(values, _ILLEGIBLE).fill_null(False))
    try:
        return utf8_trim_whitespace(values).cast(kind), np.zeros(len(values), dtype=bool)
    except ArrowInvalid:
        if len(values) == 1:
            return nulls(1, kind), np.ones(1, dtype=bool)
    half = len(values) // 2
    parts = [_convert(values[:half], kind), _convert(values[half:], kind)]
    return concat_arrays([part for part, _ in parts]), np.concatenate([bad for _, bad in parts])


def _legible(content: bytes) -> bytes:
    """Text of which bytes that are no UTF-8 are marked: pyarrow cannot tell of lines that hold any."""
    return content.decode("utf-8", "replace").encode()


def _spread(table: pyarrow.Table, places: Any) -> pyarrow.Table:
    """Rows at their places, and rows without values where the place is -1."""
    from pyarrow import array

    return table.take(array(places, mask=places < 0))


def _without_empty_words(table: pyarrow.Table) -> pyarrow.Table:
    """An empty word is no class."""
    from pyarrow import compute, string, types

    for place, field in enumerate(table.schema):
        if types.is_string(field.type):
            column = table.column(place)
            kept = compute.if_else(compute.equal(column, ""), None, column)
            table = table.set_column(place, field.name, kept.cast(string()))
    return table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _called(kind: Any) -> str:
    from pyarrow import types

    return "whole number" if types.is_integer(kind) else "number" if holds_numbers(kind) else str(kind)
