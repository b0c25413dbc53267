"""Opening the files of a table for pyarrow, on a disk or behind an address."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from stretto.data.sources.files import find_system, is_remote, local_path
from stretto.errors import MissingExtra

if TYPE_CHECKING:
    import pyarrow


def name_of(files: Sequence[str]) -> str:
    """What a person would call these files: the first, and how many there are beside it."""
    first = PurePosixPath(files[0]).name
    return first if len(files) == 1 else f"{first} and {len(files) - 1} more"


def open_table(path: str) -> pyarrow.NativeFile:
    """Open one file for pyarrow, which reads local ones by itself."""
    import pyarrow

    if not is_remote(path):
        return pyarrow.OSFile(local_path(path), "rb")
    system, inside = find_system(path)
    return pyarrow.PythonFile(system.open(inside, "rb"), mode="r")


def need_pyarrow() -> None:
    """Raise the command that installs pyarrow where it is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingExtra("pyarrow", "data") from error
