"""What an unquoted word of a job file means: YAML 1.2's numbers and booleans, and an error where readers differ."""

from __future__ import annotations

import math
import re

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INFINITY = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NAN = re.compile(r"\.(nan|NaN|NAN)")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_REAL = re.compile(r"[-+]?(([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)")

# Each of these is a number or a date to some readers of YAML and something else to others.
_AMBIGUOUS = (
    (re.compile(r"[-+]?0[0-9_]+"), "begins with a zero, so some readers count by eights; write it without"),
    (re.compile(r"[-+]?0b[01_]+"), "is a binary number to some readers; write it in digits"),
    (re.compile(r"[-+]?0x[0-9a-fA-F_]+"), "is a number to some readers; write it without sign and underscore"),
    (re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?"), "is a number to some readers; write it without underscores"),
    (
        re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"),
        "is a number to some readers, of base 60; write it out",
    ),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?"), "is a date to some readers; a job has none"),
)


def plain_value(text: str) -> bool | int | float | str | None:
    """The value of an unquoted scalar; raises ValueError with fact and remedy where its meaning is not certain.

    >>> plain_value("1e-3"), plain_value("on"), plain_value("null"), plain_value("0o17")
    (0.001, 'on', None, 15)
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _NAN.fullmatch(text):
        raise ValueError("NaN is no value to train with; write a number")
    if found := _INFINITY.fullmatch(text):
        return -math.inf if found[1] == "-" else math.inf
    if _REAL.fullmatch(text):
        return _real(text)
    for form, fact in _AMBIGUOUS:
        if form.fullmatch(text):
            raise ValueError(f"{_shortened(text)} {fact}, or put it in quotes to mean the text")
    return text


def _integer(text: str) -> int:
    number = int(text, 0) if len(text) < 80 else 2**64
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{_shortened(text)} does not fit into 64 bits; write a smaller number")
    return number


def _real(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{_shortened(text)} is larger than any number; write a smaller one")
    return number


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}…"
