"""Text as bytes, for models that predict the next one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stretto.data.sources.arrays import MAPPED_BYTES
from stretto.data.sources.windows import Stretch, Windows, hold_out_end, open_numbers
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.source import Source

BYTES = 256


def text(file: str | None = None, length: int = 128, share: float = 0.1) -> tuple[Source, Source]:
    """Open a text file, mapped into memory; its last `share` is for validation.

    Without a file the text is what Python knows of its own language (`help("for")`), half a million bytes of English.
    """
    stretch = _python_topics() if file is None else _map(Path(file))
    training, validation = hold_out_end([stretch], share, "text")
    name = "text" if file is None else Path(file).name
    return Windows(training, length, BYTES, name, "byte"), Windows(validation, length, BYTES, name, "byte")


def _map(path: Path) -> Stretch:
    if not path.is_file():
        raise DataError(
            f"{path} does not exist; name any text file (data.file), a book from https://www.gutenberg.org for "
            "example, or leave the key out to use the text that comes with Python"
        )
    if not path.stat().st_size:
        raise DataError(f"{path} is empty")
    return open_numbers(str(path), np.memmap(path, dtype=np.uint8, mode="r"), MAPPED_BYTES)


def _python_topics() -> Stretch:
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise DataError("this Python comes without its help texts; name a text file (data.file)") from error
    content = np.frombuffer("\n\n".join(topics[name] for name in sorted(topics)).encode(), dtype=np.uint8)
    return Stretch("pydoc_data", content, 0, len(content))
