"""Every error a person can meet, as one tree; each class knows the command line's exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

_LONGEST_WORD = 80


class StrettoError(Exception):
    """The root of the tree: whatever Stretto raises on purpose is one of these (bare, it is a bug of ours)."""

    exit_code: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with a job: `message` says the fact and the remedy, the rest says where.

    >>> str(Problem(message='"fast" is no number', file="job.yaml", line=7, key="training.lr"))
    'job.yaml:7: training.lr: "fast" is no number'
    """

    message: str
    file: str | None = None
    line: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file or 'line'}:{self.line}"
        return _one_line(": ".join(part for part in (place, self.key, self.message) if part))


class JobError(StrettoError):
    """The job cannot be run as it is written; `problems` holds everything that was found, not only the first."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    @classmethod
    def of(cls, message: str) -> Self:
        """A job with one problem, in words that say where it is."""
        return cls([Problem(message=message)])


class MissingExtra(StrettoError):
    """A package outside the default installation is needed; the message is the command that installs it."""

    exit_code = 2

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f'{package} is not installed; run: pip install "stretto[{extra}]"')


class DataError(StrettoError):
    """The data cannot be used: a data set is missing, or a record is damaged."""

    exit_code = 2


class ModelError(StrettoError):
    """The model cannot be built or does not fit the data it was given."""

    exit_code = 2


class SeatFailed(StrettoError):
    """The code that a seat was running raised: `cause` says in words what it was, `trace` is that seat's traceback.

    The exit code is 3, or that of the error itself where it is one of this tree: 2 for data that is missing, say.
    """

    exit_code = 3

    def __init__(self, seat: int, role: str, cause: str, trace: str = "", exit_code: int = 3) -> None:
        self.seat = seat
        self.role = role
        self.cause = cause
        self.trace = trace
        self.exit_code = exit_code
        super().__init__(f"{role} {seat} failed: {cause}")


class AnswerFailed(StrettoError):
    """Another seat was asked for something, and its code raised: the words and `trace`, the traceback, are its own."""

    exit_code = 3

    def __init__(self, words: str, trace: str = "") -> None:
        self.trace = trace
        super().__init__(words)
        if trace:
            self.add_note(trace)


class WorkersLost(StrettoError):
    """Workers were killed too often, fell silent, or could not be started by the engine."""

    exit_code = 4


class PeerLost(StrettoError):
    """Another seat has gone while this one was talking with it: always a consequence, never the root cause."""

    exit_code = 4


class CheckpointError(StrettoError):
    """A checkpoint cannot be written or read; the message names the file, and the tensor where one is damaged."""

    exit_code = 5


class WireError(StrettoError):
    """A message was refused: unauthenticated, malformed, oversized or replayed."""

    exit_code = 4


class Fenced(WireError):
    """A message was refused because it speaks of a view that is over."""


class Interrupted(StrettoError):
    """The person asked twice to stop, so everything was ended at once, without saving."""

    exit_code = 130


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be, or None when nothing is close.

    >>> nearest("synchronus", ["synchronous", "local_sgd"])
    'synchronous'
    """
    lowered = {each.lower(): each for each in known}
    matches = difflib.get_close_matches(word.lower()[:_LONGEST_WORD], lowered, n=1, cutoff=0.6)
    return lowered[matches[0]] if matches else None


def choose(what: str, word: str, known: Iterable[str]) -> str:
    """The sentence that refuses an unknown word: what it is, what there is, and what was probably meant.

    >>> choose("engine", "locl", ["inline", "local"])
    'engine "locl" is unknown; choose one of inline, local (did you mean "local"?)'
    """
    words = list(known)
    sentence = f'{what} "{word[:_LONGEST_WORD]}" is unknown; choose one of {", ".join(words)}'.lstrip()
    meant = nearest(word, words)
    return f'{sentence} (did you mean "{meant}"?)' if meant else sentence


def _one_line(text: str) -> str:
    """What a file made us quote must not move the cursor: line breaks and control characters are written as escapes."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
