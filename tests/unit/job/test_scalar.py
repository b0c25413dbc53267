"""Unquoted words of a job file."""

import math

import pytest

from stretto.job.scalar import plain_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("-2.5e+3", -2500.0),
        ("12", 12),
        ("-0", 0),
        ("+7", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("9223372036854775807", 2**63 - 1),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        (".inf", math.inf),
        ("-.INF", -math.inf),
    ],
)
def test_numbers_and_constants_follow_yaml_1_2(text, value):
    assert plain_value(text) == value
    assert type(plain_value(text)) is type(value)


@pytest.mark.parametrize(
    "text", ["on", "off", "yes", "No", "y", "nan", "inf", "1.2.3", ".", "e3", "1e", "3ep", "0.5.", "--1"]
)
def test_what_is_no_number_is_text(text):
    assert plain_value(text) == text


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("010", "begins with a zero"),
        ("-007", "begins with a zero"),
        ("0b101", "binary"),
        ("1_000", "without underscores"),
        ("1_0.5", "without underscores"),
        ("0xF_F", "without sign and underscore"),
        ("1:30", "base 60"),
        ("12:30:45.5", "base 60"),
        ("2024-01-31", "is a date"),
        ("2001-12-14t21:59:43.10-05:00", "is a date"),
        (".nan", "NaN is no value"),
        ("9" * 19, "does not fit into 64 bits"),
        ("9" * 5000, "does not fit into 64 bits"),
        ("1e999", "larger than any number"),
    ],
)
def test_what_readers_of_yaml_disagree_about_is_refused_with_a_remedy(text, fact):
    with pytest.raises(ValueError, match=fact) as refused:
        plain_value(text)
    assert len(str(refused.value)) < 200
