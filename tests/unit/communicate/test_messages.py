"""Messages of the control plane: what is said is understood, and nothing else is."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.communicate import messages
from stretto.communicate.messages import Assignment, Beat, Done, Failed, Hello, Report, Start, decode, encode
from stretto.errors import WireError
from stretto.observe.event import Event

ASSIGNMENT = Assignment(run_id="r", view=2, slot=1, rank=1, size=4, entry="module:work", environment={"RANK": "1"})
SAID = [
    Hello(role="worker", slot=3, pid=17, view=9),
    Beat(view=2, running=False, code=-9),
    Start(assignment=ASSIGNMENT),
    Report(event=Event(kind="progress", step=3, values={"loss": 0.5, "names": ["a"]})),
    Done(result={"accuracy": 0.99, "stopped": None}),
    Failed(cause="user's code", words="ValueError: no", trace="…", collateral=False),
]


@pytest.mark.parametrize("message", SAID, ids=lambda message: type(message).__name__)
def test_what_is_said_is_understood(message):
    assert decode(encode(message)) == message


def test_every_message_belongs_to_the_union_that_is_understood():
    kinds = {each for each in vars(messages).values() if isinstance(each, type) and issubclass(each, messages.Message)}
    assert kinds - {messages.Message, messages.Request} == set(messages.AnyMessage.__args__)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "Hello", "role": "worker", "slot": 3, "pid": 17, "surprise": 1},
        {"type": "Hello", "role": "king", "slot": 3, "pid": 17},
        {"type": "Hello", "role": "worker", "slot": "3", "pid": 17},
        {"type": "Hello", "role": "worker"},
        {"type": "Unheard"},
        {"slot": 3},
        [],
        None,
    ],
)
def test_anything_else_is_refused(value):
    with pytest.raises(WireError, match="a message was refused"):
        decode(msgspec.msgpack.encode(value))


@given(st.binary(max_size=200))
def test_noise_is_refused_and_never_harms(noise):
    with pytest.raises(WireError):
        decode(noise)


def test_bottomless_nesting_is_refused():
    with pytest.raises(WireError):
        decode(b"\x81\xa4type\xa4Done" + b"\x91" * 1_000_000)
    nested = msgspec.msgpack.encode({"type": "Done", "result": {"deep": 0}}).replace(
        b"\x00", b"\x91" * 100_000 + b"\x00"
    )
    with pytest.raises(WireError):
        decode(nested)


def test_messages_cannot_be_changed():
    with pytest.raises(AttributeError):
        SAID[0].slot = 4
