"""Text as bytes, for models that predict the next one."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stretto.data.batch import Batch
from stretto.errors import DataError

if TYPE_CHECKING:
    from stretto.data.source import Source

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Text:
    """Windows of `length` bytes that follow one another; the target of every byte is the byte after it."""

    def __init__(self, content: Bytes, length: int, name: str = "text") -> None:
        length = index(length)
        if length < 1 or len(content) <= length:
            raise DataError(f"{name}: {len(content)} bytes hold no window of {length} bytes and the byte after it")
        self.name = name
        self.facts = {"shape": (length,), "features": length, "length": length, "vocabulary": 256}
        self._content, self._length = content, length

    def __len__(self) -> int:
        return (len(self._content) - 1) // self._length

    def read(self, indices: Sequence[int]) -> Batch:
        """Return bytes (n, length) and the bytes that follow each of them."""
        rows = np.array(indices, dtype=np.int64)
        windows = self._content[rows[:, None] * self._length + np.arange(self._length + 1)].astype(np.int64)
        inputs, targets = windows[:, :-1].copy(), windows[:, 1:].copy()
        return Batch(torch.from_numpy(inputs), torch.from_numpy(targets), torch.from_numpy(rows))


def text(file: str | None = None, length: int = 128, share: float = 0.1) -> tuple[Source, Source]:
    """Open a text file, mapped into memory; its last `share` is for validation.

    Without a file the text is what Python knows of its own language (`help("for")`), half a million bytes of English.
    """
    if not 0 < share < 1:
        raise DataError(f"data text: a share of {share} leaves nothing on one side; give one between 0 and 1")
    content = _python_topics() if file is None else _map(Path(file))
    border = len(content) - int(len(content) * share)
    name = "text" if file is None else Path(file).name
    return Text(content[:border], length, name), Text(content[border:], length, name)


def _map(path: Path) -> Bytes:
    if not path.is_file():
        raise DataError(
            f"{path} does not exist; name any text file (data.file), a book from https://www.gutenberg.org for "
            "example, or leave the key out to use the text that comes with Python"
        )
    if not path.stat().st_size:
        raise DataError(f"{path} is empty")
    return np.memmap(path, dtype=np.uint8, mode="r")


def _python_topics() -> Bytes:
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise DataError("this Python comes without its help texts; name a text file (data.file)") from error
    return np.frombuffer("\n\n".join(topics[name] for name in sorted(topics)).encode(), dtype=np.uint8)
