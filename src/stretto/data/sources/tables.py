"""Files of tables, in parts that can be decoded by themselves: the contract of every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from stretto.errors import DataError

if TYPE_CHECKING:
    import pyarrow


class Tables(Protocol):
    """Files of tables, in parts that can be decoded by themselves; several threads may decode at once."""

    @property
    def name(self) -> str:
        """What a person would call these files."""
        ...

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns and their types."""
        ...

    @property
    def sizes(self) -> Sequence[int]:
        """How many rows each part has, at least one."""
        ...

    def decode(self, part: int, inputs: Sequence[str], target: str) -> tuple[pyarrow.Table, Mapping[int, str]]:
        """Return these columns of a part, and what is wrong with single rows of it, which may hold anything then.

        Raises pyarrow's errors, or `OSError`, where the whole part is damaged.
        """
        ...

    def largest(self, part: int, column: str) -> int | None:
        """Return the largest number of a column where that is written down, or None."""
        ...

    def place(self, part: int, row: int) -> tuple[str, int]:
        """Say where a row stands: the file, and the offset or row in it."""
        ...


def damage_errors() -> tuple[type[Exception], ...]:
    """What pyarrow raises where bytes are not what they should be."""
    from pyarrow import ArrowException

    return ArrowException, OSError, UnicodeDecodeError


def check_alike(file: str, schema: pyarrow.Schema, first: pyarrow.Schema) -> None:
    """Refuse a file whose columns are not those of the first one; more columns, and another order, are allowed."""
    try:
        _ = schema.names
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: the name of a column is no text ({error}); get the file anew") from error
    for field in first:
        at = schema.get_field_index(field.name)
        if at < 0 or schema.field(at).type != field.type:
            found = "missing" if at < 0 else schema.field(at).type
            raise DataError(
                f'{file} has not the columns of the files before it: "{field.name}" is {field.type} there, and here it '
                f"is {found}; give files of one kind"
            )
