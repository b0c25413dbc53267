"""Rows of Parquet files, a row group at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stretto.data.sources.recent import Recent
from stretto.data.sources.table import open_files
from stretto.data.sources.table_files import name_of, open_table
from stretto.data.sources.tables import check_alike, damage_errors
from stretto.errors import DataError

if TYPE_CHECKING:
    import pyarrow

    from stretto.data.source import Source

ENDINGS = (".parquet", ".pq")
FOOTERS_BYTES = 2**26
_TIMES_LARGER = 10  # in memory than in the file, about


class ParquetTables:
    """Row groups of several files; files are opened anew for each, so that any number of them costs no memory."""

    def __init__(self, files: Sequence[str]) -> None:
        self.name = name_of(files)
        self.sizes: list[int] = []
        self._files, self._groups = files, list[tuple[int, int, int]]()  # file, row group of it, first row of that
        self._footers = Recent(self._footer, FOOTERS_BYTES)
        for number, file in enumerate(files):
            schema = self._footers.get(number).metadata.schema.to_arrow_schema()
            if not number:
                self.schema = schema
            check_alike(file, schema, self.schema)
            self._add(number)

    def decode(self, part: int, inputs: Sequence[str], target: str) -> tuple[pyarrow.Table, Mapping[int, str]]:
        """Decode some columns of a row group, by one thread, and look whether they keep to their format."""
        from pyarrow.parquet import ParquetFile

        number, group, _ = self._groups[part]
        metadata = self._footers.get(number).metadata
        with (
            open_table(self._files[number]) as source,
            ParquetFile(source, metadata=metadata, page_checksum_verification=True) as opened,
        ):
            table = opened.read_row_group(group, columns=[*inputs, target], use_threads=False)
        table.validate(full=True)
        return table, {}

    def largest(self, part: int, column: str) -> int | None:
        """Return the largest number as the writer of the file noted it, or None."""
        number, group, _ = self._groups[part]
        described = self._footers.get(number).metadata.row_group(group)
        for place in range(described.num_columns):
            chunk = described.column(place)
            if chunk.path_in_schema == column and chunk.statistics is not None and chunk.statistics.has_min_max:
                return int(chunk.statistics.max)
        return None

    def place(self, part: int, row: int) -> tuple[str, int]:
        """Return the file, and the number of the row in it."""
        number, _, first = self._groups[part]
        return self._files[number], first + row

    def _add(self, number: int) -> None:
        metadata, first = self._footers.get(number).metadata, 0
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        if sum(sizes) != metadata.num_rows or min(sizes, default=0) < 0:
            raise DataError(f"{self._files[number]}: {metadata.num_rows} rows, but row groups of {sizes[:10]}; damaged")
        for group, rows in enumerate(sizes):
            if rows:
                self._groups.append((number, group, first))
                self.sizes.append(rows)
            first += rows

    def _footer(self, number: int) -> _Footer:
        from pyarrow.parquet import read_metadata

        file = self._files[number]
        try:
            with open_table(file) as source:
                return _Footer(read_metadata(source))
        except damage_errors() as error:
            raise DataError(f"{file} is no whole Parquet file: {' '.join(str(error).split())}") from error


@dataclass(frozen=True, slots=True)
class _Footer:
    metadata: Any

    @property
    def size_bytes(self) -> int:
        return int(self.metadata.serialized_size) * _TIMES_LARGER


def parquet(
    files: str | list[str],
    target: str,
    inputs: list[str] | None = None,
    validation_files: str | list[str] | None = None,
    share: float = 0.2,
    seed: int = 0,
    classes: int | None = None,
) -> tuple[Source, Source]:
    """Open Parquet files: a path, a pattern, a folder or a list; without validation files, a `share` is held out.

    Whole numbers and words in the column `target` are classes, other numbers are learnt as they are. Without `inputs`,
    all other columns that hold numbers, or vectors of one length, are inputs. The number of `classes` is found by
    reading the target's column, unless it is given.
    """
    return open_files(ParquetTables, ENDINGS, (files, validation_files), (inputs, target), (share, seed), classes)
