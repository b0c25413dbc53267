"""What is said about parcels: a request, and its answer, which describes a parcel or says why there is none."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Final

import msgspec

from stretto.communicate.frame import Limits
from stretto.communicate.parcel import Place
from stretto.errors import AnswerFailed, DataError, StrettoError, WireError

LARGEST_MESSAGE_BYTES: Final = 16 * 2**20
MESSAGES_ONLY: Final = Limits(header_bytes=LARGEST_MESSAGE_BYTES)
SLOTS: Final = 256
_LONGEST_WORDS: Final = 64 * 1024
_OURS: Final[dict[str, Callable[[str], StrettoError]]] = {"DataError": DataError, "MissingExtra": DataError}


class Asked(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A request, and into which of the caller's slots in shared memory its answer goes."""

    slot: int
    request: bytes


class Answered(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=True):
    """A parcel without its tensors; these lie in a block of so many bytes, in shared memory or behind this message."""

    header: bytes
    places: tuple[Place, ...]
    block_bytes: int


class Failed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=True):
    """Answering raised: the error's class, its words and its traceback."""

    kind: str
    words: str
    trace: str


_ASKED: Final = msgspec.msgpack.Decoder(Asked)
_ANSWER: Final = msgspec.msgpack.Decoder(Answered | Failed)
_ENCODER: Final = msgspec.msgpack.Encoder()


def encode(message: Asked | Answered | Failed) -> bytes:
    """The message as bytes; `WireError` when it is larger than any message may be."""
    content = _ENCODER.encode(message)
    MESSAGES_ONLY.check(len(content), 0)
    return content


def decode_request(content: bytes | bytearray) -> Asked:
    """The request in these bytes; `WireError` when there is none, or it names a slot that no caller can have."""
    try:
        asked = _ASKED.decode(content)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise WireError(f"a request was refused: {error}") from error
    if not 0 <= asked.slot < SLOTS:
        raise WireError(f"a request was refused: it names slot {asked.slot} of {SLOTS}")
    return asked


def decode_answer(content: bytes | bytearray) -> Answered | Failed:
    """The answer in these bytes; `WireError` when there is none."""
    try:
        answer: Answered | Failed = _ANSWER.decode(content)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise WireError(f"an answer was refused: {error}") from error
    return answer


def failed(error: Exception) -> Failed:
    """What the caller is told of an error; of long words the beginning, of a long traceback the end."""
    trace = "".join(traceback.format_exception(error))
    kind = DataError if isinstance(error, DataError) else type(error)
    return Failed(kind.__name__, _sendable(str(error)[:_LONGEST_WORDS]), _sendable(trace[-_LONGEST_WORDS:]))


def failure(answer: Failed) -> StrettoError:
    """The error as the caller raises it: ours again where it is one about data, else one that says what it was."""
    if answer.kind in _OURS:
        return _OURS[answer.kind](answer.words)
    return AnswerFailed(f"{answer.kind}: {answer.words}", answer.trace)


def _sendable(text: str) -> str:
    """Names of files may hold what is no text; it is written as escapes."""
    return text.encode(errors="backslashreplace").decode()
