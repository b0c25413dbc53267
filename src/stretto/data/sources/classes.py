"""How many classes the target column of a table has, and what they are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stretto.data.sources.columns import holds_numbers
from stretto.data.sources.tables import Tables, damage_errors
from stretto.errors import DataError

_MOST_NAMES = 2**16


def find_classes(
    tables: Sequence[Tables], target: str, known: int | None = None
) -> tuple[int | None, tuple[str, ...] | None]:
    """Return the number of classes and their sorted names: of words all that occur, of whole numbers none.

    Other numbers are no classes: (None, None). The column is read part by part, unless its largest number is written
    down or the number of classes is `known`.
    """
    kinds = {_kind(each.schema.field(target).type) for each in tables}
    if len(kinds) > 1:
        raise DataError(
            f'column "{target}" holds {" in one file and ".join(sorted(kinds))} in another; make them alike'
        )
    kind = kinds.pop()
    if kind == "words":
        names = _names(tables, target)
        return len(names), names
    if kind == "whole numbers":
        return known or max((each for part in _parts(tables) for each in _largest(*part, target)), default=0) + 1, None
    if kind == "numbers":
        return None, None
    raise DataError(f'column "{target}" holds {kind}; a target is a number or a word (data.target)')


def _kind(kind: Any) -> str:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "words"
    if types.is_integer(kind) or types.is_boolean(kind):
        return "whole numbers"
    return "numbers" if holds_numbers(kind) else str(kind)


def _names(tables: Sequence[Tables], target: str) -> tuple[str, ...]:
    from pyarrow import compute, string

    names: set[str] = set()
    for each, part in _parts(tables):
        for column in _read(each, part, target):
            names.update(compute.unique(column.cast(string())).drop_null().to_pylist())
        if len(names) > _MOST_NAMES:
            raise DataError(f'column "{target}" holds more than {_MOST_NAMES} words; classes are fewer (data.target)')
    return tuple(sorted(names))


def _largest(tables: Tables, part: int, target: str) -> Iterator[int]:
    from pyarrow import compute, int64

    try:
        written = tables.largest(part, target)
    except damage_errors():
        written = None
    if written is not None:
        yield written
        return
    for column in _read(tables, part, target):
        if column.null_count < len(column):
            yield int(compute.max(column.cast(int64())).as_py())


def _read(tables: Tables, part: int, target: str) -> Iterator[Any]:
    """The column, or nothing where it is damaged, which is told when its samples are asked for."""
    try:
        yield tables.decode(part, (), target)[0].column(target)
    except damage_errors():
        return


def _parts(tables: Sequence[Tables]) -> Iterator[tuple[Tables, int]]:
    return ((each, part) for each in tables for part in range(len(each.sizes)))
