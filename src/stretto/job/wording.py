"""What the checking library found, in a person's words: the fact, what is allowed, the nearest known word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stretto.errors import choose
from stretto.job.fields import field_at, keys_of, meant_key
from stretto.job.node import Path, dotted

_YES_AND_NO = {"on": "true", "yes": "true", "y": "true", "off": "false", "no": "false", "n": "false"}
_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a text",
    "dict_type": "a mapping of keys and values",
    "model_type": "a mapping of keys and values",
    "model_attributes_type": "a mapping of keys and values",
    "tuple_type": "a list, such as [one, two]",
    "finite_number": "a finite number",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def path_of(error: Any) -> Path:
    """Where in the job the error is, inside a choice as well when that is written as a mapping."""
    inside = error.get("ctx", {}).get("inside", ()) if isinstance(error["input"], Mapping) else ()
    return (*error["loc"], *inside)


def sentence(error: Any) -> str:
    """One of pydantic's errors as fact and remedy."""
    kind, value = error["type"], error.get("input")
    limits = error.get("ctx", {})
    if kind == "missing":
        return _missing(path_of(error))
    if kind == "extra_forbidden":
        return _unknown_key(path_of(error))
    if kind == "literal_error":
        return _not_among(value, re.findall(r"'([^']*)'", limits["expected"]))
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        return f"must be {words} {_number(limits[bound])}, not {shown(value)}"
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}, not {shown(value)}{_hint(kind, value)}"
    if kind == "string_pattern_mismatch":
        return f"must be a name of letters, digits, dots, spaces, - and _, not {shown(value)}"
    if kind == "string_too_short":
        return "must not be empty"
    return str(error["msg"])


def shown(value: Any) -> str:
    """A value as a person would recognise it in the file, cut where it is long."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, dict | list | tuple):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _missing(path: Path) -> str:
    field = field_at(path)
    description = field.description if field else None
    return f"is missing; {description[0].lower()}{description[1:].rstrip('.')}" if description else "is missing"


def _unknown_key(path: Path) -> str:
    meant = meant_key(path)
    hint = f' (did you mean "{meant}"?)' if meant else ""
    place = f"{dotted(path[:-1])} has" if len(path) > 1 else "a job has"
    return f"unknown key; {place} {', '.join(keys_of(path[:-1]))}{hint}"


def _not_among(value: Any, allowed: list[str]) -> str:
    if isinstance(value, str):
        return choose("", value, allowed)
    return f"must be one of {', '.join(allowed)}, not {shown(value)}"


def _hint(kind: str, value: Any) -> str:
    if not isinstance(value, str):
        return ""
    if kind == "bool_type" and value.lower() in _YES_AND_NO:
        return f'; "{value}" is a text in YAML 1.2, write {_YES_AND_NO[value.lower()]}'
    if kind in ("int_type", "float_type") and re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", value):
        return "; write it without quotes"
    return ""


def _number(number: float) -> str:
    return f"{number:,}".replace(",", " ") if isinstance(number, int) and number < 10**6 else f"{number:g}"
