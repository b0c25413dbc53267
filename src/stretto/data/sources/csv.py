"""Rows of CSV files, some thousand lines at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stretto.data.sources.csv_lines import Lines, count_lines, line_offset
from stretto.data.sources.csv_parsing import Header, kinds_of, parse
from stretto.data.sources.table import open_files
from stretto.data.sources.table_files import name_of, open_table
from stretto.data.sources.tables import check_alike
from stretto.errors import DataError

if TYPE_CHECKING:
    import pyarrow

    from stretto.data.source import Source

ENDINGS = (".csv", ".tsv")
PART_BYTES = 2**20


class CsvTables:
    """Stretches of lines of several files; of opening remains where each begins and how many lines it has."""

    def __init__(self, files: Sequence[str], part_bytes: int = PART_BYTES) -> None:
        self.name = name_of(files)
        self.sizes: list[int] = []
        self._parts: list[tuple[Header, Lines]] = []
        for file in files:
            with open_table(file) as opened:
                header = Header.read(file, opened)
                found = list(count_lines(opened, header.size, part_bytes))
            if found and not self.sizes:  # a file without rows says nothing of what its columns hold
                self.schema = header.schema
            if found:
                check_alike(file, header.like(self.schema), self.schema)
            self._parts += [(header, lines) for lines in found]
            self.sizes += [lines.count for lines in found]
        if not self.sizes:
            raise DataError(f"{self.name}: there are no rows")

    def decode(self, part: int, inputs: Sequence[str], target: str) -> tuple[pyarrow.Table, Mapping[int, str]]:
        """Parse some columns of a stretch of lines, by one thread; lines that cannot be parsed are damaged rows."""
        header, lines = self._parts[part]
        return parse(self._content(part), header, lines.count, kinds_of(self.schema, inputs, target))

    def largest(self, part: int, column: str) -> int | None:
        """Return None: nothing is written down."""
        return None

    def place(self, part: int, row: int) -> tuple[str, int]:
        """Return the file, and the offset at which the line begins."""
        header, lines = self._parts[part]
        return header.file, lines.start + line_offset(self._content(part), row)

    def _content(self, part: int) -> bytes:
        header, lines = self._parts[part]
        with open_table(header.file) as opened:
            content: Any = opened.read_at(lines.stop - lines.start, lines.start)
        return bytes(content)


def csv(
    files: str | list[str],
    target: str,
    inputs: list[str] | None = None,
    validation_files: str | list[str] | None = None,
    share: float = 0.2,
    seed: int = 0,
    classes: int | None = None,
) -> tuple[Source, Source]:
    """Open CSV files whose first lines name the columns: a path, a pattern, a folder or a list; otherwise as `parquet`.

    Values are separated by commas, in files that end in `.tsv` by tabs, and no value has a line break in it.
    """
    return open_files(CsvTables, ENDINGS, (files, validation_files), (inputs, target), (share, seed), classes)
