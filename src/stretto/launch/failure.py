"""Why a worker failed, in a person's words."""

from __future__ import annotations

import errno
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

from stretto.communicate.messages import Failed
from stretto.errors import CheckpointError, DataError, JobError, MissingExtra, ModelError, PeerLost, StrettoError

_OURS: Final = str(Path(__file__).parents[1])
_MEMORY_WORDS: Final = ("not enough memory", "can't allocate memory", "cannot allocate memory", "out of memory")
_PEER_WORDS: Final = (
    "connection reset by peer",
    "connection closed by peer",
    "broken pipe",
    "read eof",
    "connection was closed",
    "connection refused",
)
_WORDS_LENGTH: Final = 10_000
_TRACE_LENGTH: Final = 500_000
_PEER_CLASSES: Final = ("DistBackendError", "DistNetworkError", "DistStoreError")


def explain_failure(error: BaseException) -> Failed:
    """The failure as the coordinator is told it: cause, sentence with the place, traceback.

    >>> explain_failure(MemoryError("no room")).cause
    'out of memory'
    """
    cause = cause_of(error)
    place = _place(error.__traceback__)
    words = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, StrettoError):  # these say already what is wrong, where, and what to do
        words, place = str(error), None
    return Failed(
        cause=cause,
        words=f"{words[:_WORDS_LENGTH]} ({place})" if place else words[:_WORDS_LENGTH],
        trace="".join(traceback.format_exception(error))[-_TRACE_LENGTH:],
        collateral=cause == "network",
        exit_code=error.exit_code if isinstance(error, StrettoError) else 5 if cause == "disk" else 3,
    )


def cause_of(error: BaseException) -> str:
    """One of: out of memory, data, the job, network, disk, user's code."""
    text = str(error).lower()
    if isinstance(error, MemoryError) or _is_named(error, "OutOfMemoryError") or _says(text, _MEMORY_WORDS):
        return "out of memory"
    if isinstance(error, DataError):
        return "data"
    if isinstance(error, JobError | ModelError | MissingExtra):
        return "the job"
    if isinstance(error, CheckpointError) or (
        isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    ):
        return "disk"
    if isinstance(error, PeerLost | ConnectionError) or any(_is_named(error, each) for each in _PEER_CLASSES):
        return "network"
    # Process groups say that a peer has gone by a plain RuntimeError.
    if isinstance(error, RuntimeError) and _says(text, _PEER_WORDS):
        return "network"
    return "user's code"


def _says(text: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in text for phrase in phrases)


def _is_named(error: BaseException, name: str) -> bool:
    return any(each.__name__ == name for each in type(error).__mro__)


def _place(trace: TracebackType | None) -> str | None:
    """File and line of the innermost frame that is the user's, else of the innermost outside Stretto."""
    frames = traceback.extract_tb(trace)
    outside = [frame for frame in frames if not frame.filename.startswith((_OURS, "<frozen"))]
    theirs = [frame for frame in outside if not frame.filename.startswith(_installed())]
    chosen = (theirs or outside or list(frames))[-1:]
    return f"{chosen[0].filename}:{chosen[0].lineno}" if chosen else None


def _installed() -> tuple[str, ...]:
    return tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
