import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from stretto.observe.event import Event

words = some.text().filter(lambda word: word not in ("nan", "inf", "-inf"))
plain = some.none() | some.booleans() | some.integers(-(2**53), 2**53) | some.floats(allow_nan=False) | words
values = some.recursive(plain, lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner), max_leaves=8)


@given(some.dictionaries(some.text(), values))
def test_an_event_comes_back_from_its_line_as_it_was(given_values):
    event = Event(kind="progress", seat=1, step=2, epoch=0, samples=256, time_s=3.5, values={"all": given_values})
    assert Event.from_line(event.to_line()) == event


def test_a_line_is_one_line_of_json_that_any_program_reads():
    line = Event(kind="warning", values={"message": "two\nlines", "loss": math.nan}).to_line()
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert json.loads(line)["values"] == {"message": "two\nlines", "loss": "nan"}


def test_numbers_that_json_lacks_survive():
    event = Event(kind="progress", values={"loss": math.nan, "norms": [math.inf, -math.inf]})
    again = Event.from_line(event.to_line())
    assert math.isnan(again.values["loss"]) and again.values["norms"] == [math.inf, -math.inf]


def test_an_event_has_the_wall_time_unless_it_is_told_one():
    before_s = time.time()
    assert before_s <= Event(kind="finished").time_s <= time.time()
    assert Event(kind="finished", time_s=5.0).time_s == 5.0


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"kind": 3}', b"\xff\xfe", b'{"kind":"progress","step":"x"}'])
def test_anything_else_is_refused_as_no_event(line):
    with pytest.raises(ValueError, match="no event"):
        Event.from_line(line)


def test_a_field_of_a_later_version_is_passed_over():
    assert Event.from_line(b'{"kind":"progress","colour":"blue"}').kind == "progress"
