"""Rows of Arrow IPC files and streams (Feather, too), a record batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stretto.data.sources.arrow_messages import Message, read_messages
from stretto.data.sources.table import open_files
from stretto.data.sources.table_files import name_of, open_table
from stretto.data.sources.tables import check_alike, damage_errors
from stretto.errors import DataError

if TYPE_CHECKING:
    import pyarrow

    from stretto.data.source import Source

ENDINGS = (".arrow", ".feather", ".ipc", ".arrows")


class ArrowTables:
    """Record batches of several files, which are read, not mapped: pages of a mapping would stay in memory."""

    def __init__(self, files: Sequence[str]) -> None:
        self.name = name_of(files)
        self.sizes: list[int] = []
        self._batches: list[tuple[str, list[bytes], Message, int]] = []
        for file in files:
            with open_table(file) as opened:
                schema = self._add(file, opened)
            if file == files[0]:
                self.schema = schema
            check_alike(file, schema, self.schema)

    def decode(self, part: int, inputs: Sequence[str], target: str) -> tuple[pyarrow.Table, Mapping[int, str]]:
        """Decode some columns of a record batch, and look whether it keeps to its format."""
        from pyarrow import Table

        file, before, message, _ = self._batches[part]
        with open_table(file) as opened:
            content = opened.read_at(message.size, message.offset)
        schema = _open(before, b"").schema
        chosen = [schema.get_field_index(name) for name in (*inputs, target)]
        table = Table.from_batches([_open(before, content, chosen).read_next_batch()])
        table.validate(full=True)
        return table, {}

    def largest(self, part: int, column: str) -> int | None:
        """Return None: nothing is written down."""
        return None

    def place(self, part: int, row: int) -> tuple[str, int]:
        """Return the file, and the number of the row in it."""
        file, _, _, first = self._batches[part]
        return file, first + row

    def _add(self, file: str, opened: pyarrow.NativeFile) -> pyarrow.Schema:
        before: list[bytes] = []  # schema and dictionaries: what a batch is decoded with
        first = 0
        for message in read_messages(file, opened):
            if message.rows is None:
                before = [*before, opened.read_at(message.size, message.offset)]
            elif message.rows:
                self._batches.append((file, before, message, first))
                self.sizes.append(message.rows)
                first += message.rows
        try:
            return _open(before, b"").schema
        except damage_errors() as error:
            raise DataError(f"{file} is no whole Arrow file: {' '.join(str(error).split())}") from error


def arrow(
    files: str | list[str],
    target: str,
    inputs: list[str] | None = None,
    validation_files: str | list[str] | None = None,
    share: float = 0.2,
    seed: int = 0,
    classes: int | None = None,
) -> tuple[Source, Source]:
    """Open Arrow IPC files or streams: a path, a pattern, a folder or a list; otherwise as `parquet`."""
    return open_files(ArrowTables, ENDINGS, (files, validation_files), (inputs, target), (share, seed), classes)


def _open(before: Sequence[bytes], batch: bytes, columns: Sequence[int] = ()) -> pyarrow.RecordBatchStreamReader:
    from pyarrow import BufferReader
    from pyarrow.ipc import IpcReadOptions, open_stream

    options = IpcReadOptions(included_fields=list(columns), use_threads=False)
    return open_stream(BufferReader(b"".join([*before, batch])), options=options)
