"""What is said about parcels: requests, answers and failures, and nothing else."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.communicate.parcel import Place
from stretto.communicate.parcel_message import (
    LARGEST_MESSAGE_BYTES,
    SLOTS,
    Answered,
    Asked,
    Failed,
    decode_answer,
    decode_request,
    encode,
    failed,
    failure,
)
from stretto.errors import AnswerFailed, DataError, MissingExtra, PeerLost, WireError

ANSWER = Answered(b"header", (Place(0, "int8", (3, 4)), Place(64, "bool", ())), 128)


def raised(error):
    try:
        raise error
    except Exception as caught:
        return failed(caught)


def test_messages_come_out_as_they_went_in():
    assert decode_request(encode(Asked(3, b"give me ten"))) == Asked(3, b"give me ten")
    assert decode_answer(encode(ANSWER)) == ANSWER
    assert decode_answer(encode(Failed("ValueError", "words", "trace"))) == Failed("ValueError", "words", "trace")


@pytest.mark.parametrize("slot", [-1, SLOTS, 2**40])
def test_a_slot_that_no_caller_can_have_is_refused(slot):
    with pytest.raises(WireError, match=f"it names slot {slot} of {SLOTS}"):
        decode_request(encode(Asked(slot, b"")))


@pytest.mark.parametrize("decode", [decode_request, decode_answer])
@given(
    noise=st.binary(max_size=100)
    | st.builds(msgspec.msgpack.encode, st.lists(st.integers(0, 2**64 - 1) | st.text()).filter(bool))
)
def test_noise_is_refused(decode, noise):
    with pytest.raises(WireError, match="was refused"):
        decode(noise)


def test_words_that_are_no_text_are_refused():
    with pytest.raises(WireError, match="an answer was refused"):
        decode_answer(encode(Failed("abc", "words", "trace")).replace(b"abc", b"\xff\xfe\xff"))


@given(st.data())
def test_what_is_cut_short_is_refused(data):
    content = encode(ANSWER)
    with pytest.raises(WireError, match="an answer was refused"):
        decode_answer(content[: data.draw(st.integers(0, len(content) - 1))])


def test_a_message_that_is_too_large_is_not_even_made():
    with pytest.raises(WireError, match=f"allowed are {LARGEST_MESSAGE_BYTES}"):
        encode(Asked(0, bytes(LARGEST_MESSAGE_BYTES)))


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (DataError("record 7 is damaged"), DataError, "record 7 is damaged"),
        (MissingExtra("PIL", "images"), DataError, 'PIL is not installed; run: pip install "stretto[images]"'),
        (ValueError("odd"), AnswerFailed, "ValueError: odd"),
        (PeerLost("its own peer has gone"), AnswerFailed, "PeerLost: its own peer has gone"),
    ],
)
def test_an_error_arrives_in_its_own_words(error, kind, words):
    arrived = failure(decode_answer(encode(raised(error))))
    assert (type(arrived), str(arrived)) == (kind, words)


def test_a_persons_own_error_brings_its_traceback():
    arrived = failure(raised(ValueError("odd")))
    assert "in raised\n    raise error" in arrived.trace


@pytest.mark.parametrize("words", ["x" * LARGEST_MESSAGE_BYTES, "photo\udcff.png"])
def test_an_error_travels_however_long_or_odd_its_words_are(words):
    assert len(encode(raised(ValueError(words)))) < 2**20
