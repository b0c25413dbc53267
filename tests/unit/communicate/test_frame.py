"""Frames: what is sealed comes out, in whatever pieces it arrives; everything else is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.communicate.frame import START_BYTES, Frame, Limits, Opener, Sealer
from stretto.errors import WireError

KEY = b"k" * 32
FRAMES = st.lists(
    st.builds(
        lambda header, payload, view: Frame(header=header, payload=payload, view=view),
        st.binary(max_size=200),
        st.binary(max_size=200),
        st.integers(0, 2**64 - 1),
    ),
    min_size=1,
    max_size=5,
)
LIMITS = Limits(header_bytes=1000, payload_bytes=1000)


def sealed(frames):
    sealer = Sealer(KEY, Limits(header_bytes=2**20, payload_bytes=2**20))
    return b"".join(sealer.seal(frame) for frame in frames)


@given(FRAMES, st.lists(st.integers(1, 50), min_size=1))
def test_frames_come_out_whole_and_in_order_in_whatever_pieces_they_arrive(frames, sizes):
    data, opener, out, position = sealed(frames), Opener(KEY, LIMITS), [], 0
    while position < len(data):
        size = sizes[len(out) % len(sizes)]
        out += opener.feed(data[position : position + size])
        position += size
    assert out == frames
    assert opener.kept_bytes == 0


@given(FRAMES)
def test_frames_that_go_piece_by_piece_are_the_same_frames(frames):
    sealer, other, opener = Sealer(KEY, LIMITS), Sealer(KEY, LIMITS), Opener(KEY, LIMITS)
    for frame in frames:
        whole = other.seal(frame)
        start, tag = sealer.begin(len(frame.header), len(frame.payload), frame.view)
        tag.update(frame.header)
        tag.update(frame.payload)
        assert start + frame.header + frame.payload + tag.digest() == whole
        announced, received = opener.begin(start)
        assert (announced.header_bytes, announced.payload_bytes) == (len(frame.header), len(frame.payload))
        received.update(frame.header + frame.payload)
        opener.end(received, tag.digest())


def test_a_frame_in_pieces_is_believed_only_with_its_tag():
    sealer, opener = Sealer(KEY), Opener(KEY)
    start, tag = sealer.begin(5, 0)
    _announced, received = opener.begin(start)
    tag.update(b"honey")
    received.update(b"money")
    with pytest.raises(WireError, match="its content is not what was sealed"):
        opener.end(received, tag.digest())


@settings(max_examples=300)
@given(FRAMES, st.data())
def test_no_flipped_bit_gets_through(frames, data):
    bits = bytearray(sealed(frames))
    position = data.draw(st.integers(0, len(bits) * 8 - 1))
    bits[position // 8] ^= 1 << position % 8
    opener, out = Opener(KEY, LIMITS), []
    with pytest.raises(WireError):
        for start in range(0, len(bits), 7):
            out += opener.feed(bytes(bits[start : start + 7]))
    assert out == frames[: len(out)]


@given(FRAMES, st.data())
def test_a_truncated_stream_gives_only_what_is_complete(frames, data):
    bits = sealed(frames)
    out = Opener(KEY, LIMITS).feed(bits[: data.draw(st.integers(0, len(bits) - 1))])
    assert out == frames[: len(out)]
    assert len(out) < len(frames)


@given(st.binary(min_size=START_BYTES, max_size=400))
def test_noise_is_refused(noise):
    with pytest.raises(WireError, match="does not carry this connection's key"):
        Opener(KEY).feed(noise)


def test_a_frame_cannot_come_twice():
    frame = sealed([Frame(header=b"pay me")])
    opener = Opener(KEY)
    opener.feed(frame)
    with pytest.raises(WireError, match="number 0, number 1 is due"):
        opener.feed(frame)


def test_a_frame_cannot_be_left_out():
    sealer, opener = Sealer(KEY), Opener(KEY)
    sealer.seal(Frame(header=b"lost"))
    with pytest.raises(WireError, match="number 1, number 0 is due"):
        opener.feed(sealer.seal(Frame(header=b"next")))


def test_another_connections_frame_is_refused():
    with pytest.raises(WireError, match="key"):
        Opener(b"x" * 32).feed(sealed([Frame(header=b"hello")]))


@pytest.mark.parametrize("frame", [Frame(header=bytes(1001)), Frame(header=b"", payload=bytes(1001))])
def test_a_frame_that_is_too_large_is_refused_by_its_first_bytes(frame):
    opener = Opener(KEY, LIMITS)
    with pytest.raises(WireError, match=r"1001 .*bytes|allowed are 1000 \+ 1000"):
        opener.feed(sealed([frame])[:START_BYTES])
    assert opener.kept_bytes == 0


def test_a_frame_that_is_too_large_is_not_even_sealed():
    with pytest.raises(WireError, match=r"5000000 .*allowed are 4194304"):
        Sealer(KEY).seal(Frame(header=bytes(5_000_000)))


def test_a_length_is_not_believed_before_the_key_is_proved():
    data = bytearray(sealed([Frame(header=b"x")]))
    data[8:12] = (2**31).to_bytes(4, "big")
    with pytest.raises(WireError, match="key"):
        Opener(KEY).feed(bytes(data[:START_BYTES]))


def test_a_stream_that_lied_once_is_not_read_further():
    opener = Opener(KEY)
    with pytest.raises(WireError):
        opener.feed(bytes(START_BYTES))
    with pytest.raises(WireError):
        opener.feed(sealed([Frame(header=b"honest")]))
