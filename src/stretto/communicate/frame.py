"""The wire's frame: lengths, sequence number and view in front, a keyed tag behind; bytes in, frames out, no sockets.

A frame is a prefix of fixed size, a tag over the prefix, the header, the payload, and a tag over everything. The
prefix has a tag of its own so that no length is believed, and nothing is kept for it, before the sender has proved that
it holds the key. Each direction of each connection has its own key and counts its frames from zero, so a frame that was
heard elsewhere or earlier is refused.
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from stretto.errors import WireError

MAGIC: Final = b"STRO"
VERSION: Final = 1
_PREFIX: Final = struct.Struct(">4sB3xIQQQ")
_PREFIX_TAG_BYTES: Final = 16
TAG_BYTES: Final = 32
START_BYTES: Final = _PREFIX.size + _PREFIX_TAG_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One message on the wire: a small header, raw bytes behind it, and the view that its sender speaks of."""

    header: bytes
    payload: bytes = b""
    view: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a frame may be; whatever claims to be larger is refused by its first bytes."""

    header_bytes: int = 4 * 2**20
    payload_bytes: int = 0

    def check(self, header_bytes: int, payload_bytes: int) -> None:
        """Raise `WireError` for a frame that is too large."""
        if header_bytes > self.header_bytes or payload_bytes > self.payload_bytes:
            raise WireError(
                f"a frame was refused: {header_bytes} + {payload_bytes} bytes, "
                f"allowed are {self.header_bytes} + {self.payload_bytes}"
            )


class Sealer:
    """Turns frames into bytes for one direction of one connection, numbering them from zero.

    >>> opener = Opener(b"k" * 32)
    >>> opener.feed(Sealer(b"k" * 32).seal(Frame(header=b"hello")))
    [Frame(header=b'hello', payload=b'', view=0)]
    """

    def __init__(self, key: bytes, limits: Limits | None = None) -> None:
        self._key = key
        self._limits = limits or Limits()
        self._sequence = 0

    def seal(self, frame: Frame) -> bytes:
        """The frame's bytes, ready to be sent after those of the frame before; `WireError` when it is too large."""
        start, tag = self.begin(len(frame.header), len(frame.payload), frame.view)
        tag.update(frame.header)
        tag.update(frame.payload)
        return start + frame.header + frame.payload + tag.digest()

    def begin(self, header_bytes: int, payload_bytes: int, view: int = 0) -> tuple[bytes, blake2b]:
        """The first bytes of a frame that is sent piece by piece, and the tag that every piece has to be added to.

        The tag's digest ends the frame. `WireError` when the frame is too large; then it does not count.
        """
        self._limits.check(header_bytes, payload_bytes)
        prefix = _PREFIX.pack(MAGIC, VERSION, header_bytes, payload_bytes, self._sequence, view)
        self._sequence += 1
        start = prefix + _prefix_tag(self._key, prefix)
        return start, blake2b(start, key=self._key, digest_size=TAG_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a frame's first bytes say, once its sender has proved that it holds the key."""

    header_bytes: int
    payload_bytes: int
    view: int

    @property
    def whole_bytes(self) -> int:
        """The length of the whole frame."""
        return START_BYTES + self.header_bytes + self.payload_bytes + TAG_BYTES


class Opener:
    """Turns arriving bytes, in pieces of any size, into the frames that the other side sealed.

    The first thing that is wrong raises `WireError` and ends it for good: a stream that lied once is not read further.
    """

    def __init__(self, key: bytes, limits: Limits | None = None) -> None:
        self._key = key
        self._limits = limits or Limits()
        self._sequence = 0
        self._buffer = bytearray()
        self._start: Start | None = None
        self._tag = blake2b()
        self._broken: str | None = None

    @property
    def kept_bytes(self) -> int:
        """How much is held back for a frame that is not complete yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[Frame]:
        """All frames that are complete with `data`, oldest first; raises `WireError` at the first bad one."""
        if self._broken is not None:
            raise WireError(self._broken)
        self._buffer += data
        frames: list[Frame] = []
        try:
            while (frame := self._next()) is not None:
                frames.append(frame)
        except WireError as error:
            self._broken = str(error)
            self._buffer.clear()
            raise
        return frames

    def begin(self, data: bytes) -> tuple[Start, blake2b]:
        """What a frame's first `START_BYTES` say, and the tag that every further piece of it has to be added to."""
        prefix, tag = data[: _PREFIX.size], data[_PREFIX.size :]
        if not hmac.compare_digest(tag, _prefix_tag(self._key, prefix)):
            raise WireError("a frame was refused: it does not carry this connection's key")
        magic, version, header_bytes, payload_bytes, sequence, view = _PREFIX.unpack(prefix)
        if magic != MAGIC or version != VERSION:
            raise WireError(f"a frame was refused: version {version} of the wire, this side speaks {VERSION}")
        if sequence != self._sequence:
            raise WireError(f"a frame was refused: it is number {sequence}, number {self._sequence} is due (replayed?)")
        self._limits.check(header_bytes, payload_bytes)
        start = Start(header_bytes=header_bytes, payload_bytes=payload_bytes, view=view)
        return start, blake2b(data, key=self._key, digest_size=TAG_BYTES)

    def end(self, tag: blake2b, received: bytes) -> None:
        """Compare the tag of all pieces with the one behind them; only then may the frame be believed."""
        if not hmac.compare_digest(received, tag.digest()):
            raise WireError("a frame was refused: its content is not what was sealed")
        self._sequence += 1

    def _next(self) -> Frame | None:
        if self._start is None:
            if len(self._buffer) < START_BYTES:
                return None
            self._start, self._tag = self.begin(bytes(self._buffer[:START_BYTES]))
        if len(self._buffer) < self._start.whole_bytes:
            return None
        return self._take(self._start, self._tag)

    def _take(self, start: Start, tag: blake2b) -> Frame:
        end = start.whole_bytes - TAG_BYTES
        content = bytes(self._buffer[START_BYTES:end])
        tag.update(content)
        self.end(tag, bytes(self._buffer[end : start.whole_bytes]))
        del self._buffer[: start.whole_bytes]
        self._start = None
        return Frame(header=content[: start.header_bytes], payload=content[start.header_bytes :], view=start.view)


def _prefix_tag(key: bytes, prefix: bytes) -> bytes:
    return blake2b(prefix, key=key, digest_size=_PREFIX_TAG_BYTES).digest()
