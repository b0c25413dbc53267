"""A word with arguments: `resnet`, or `{name: resnet, depth: 8}`; the word is known, or names `module:attribute`."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from stretto.errors import choose, nearest
from stretto.job.words import MODULE_ATTRIBUTE, Arguments, kind_schema, names_attribute

_DEPTH_LIMIT = 24


@final
class Choice:
    """A name and the arguments given with it; it cannot be changed, so a job can be shared.

    >>> choice = Choice("resnet", {"depth": 8})
    >>> choice.name, choice.arguments
    ('resnet', {'depth': 8})
    """

    __slots__ = ("_arguments", "_name")

    def __init__(self, name: str, arguments: Mapping[str, Any] | None = None) -> None:
        self._name = name
        self._arguments: dict[str, Any] = {key: _plain(value, (key,)) for key, value in (arguments or {}).items()}

    @property
    def name(self) -> str:
        """The word: one of a table, a class by name, or `module:attribute`."""
        return self._name

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, as a copy of one's own."""
        return copy.deepcopy(self._arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"Choice({self.name!r}, {self._arguments!r})" if self._arguments else f"Choice({self.name!r})"

    @property
    def _identity(self) -> tuple[str, str]:
        return self._name, json.dumps(self._arguments, sort_keys=True)

    def written(self) -> str | dict[str, Any]:
        """The choice as a job file has it: the bare word when there are no arguments."""
        return {"name": self.name, **self.arguments} if self._arguments else self.name

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        serialization = core_schema.plain_serializer_function_ser_schema(cls.written)
        return core_schema.no_info_plain_validator_function(cls._validate, serialization=serialization)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        name = {"type": "string", "pattern": f"^{MODULE_ATTRIBUTE}$"}
        return {"anyOf": [name, _mapping_schema(name)]}

    @classmethod
    def _validate(cls, value: Any) -> Choice:
        if isinstance(value, Choice):
            return value
        if isinstance(value, str):
            value = {"name": value}
        if not isinstance(value, Mapping):
            raise _wrong("must be a word, or a mapping with a name and arguments, such as {name: word, key: value}")
        if "name" not in value:
            raise _wrong("the name is missing; write {name: word, key: value}")
        if not isinstance(value["name"], str):
            raise _wrong("the name must be a word", "name")
        stray = next((key for key in value if not isinstance(key, str)), None)
        if stray is not None:
            raise _wrong(f"the argument {stray!r} must be named by a word")
        return cls(value["name"], {key: given for key, given in value.items() if key != "name"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Words:
    """Which names a choice may have, for example `Annotated[Choice, Words(known=ENGINES)]`, with their arguments.

    `pattern` opens the table: besides the known words, any name of that form is taken (a class of torch.optim, say).
    Whatever the table, `module:attribute` is allowed.
    """

    known: Mapping[str, Arguments] = field(default_factory=dict)
    pattern: str | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        words: list[dict[str, Any]] = [{"enum": list(self.known)}] if self.known else []
        patterns = [self.pattern, MODULE_ATTRIBUTE] if self.pattern else [MODULE_ATTRIBUTE]
        others: list[dict[str, Any]] = [{"type": "string", "pattern": f"^{pattern}$"} for pattern in patterns]
        if self.known and self.pattern:
            others[0]["not"] = words[0]
        known = [_mapping_schema({"const": name}, arguments) for name, arguments in self.known.items()]
        return {"anyOf": [{"anyOf": words + others}, *known, _mapping_schema({"anyOf": others})]}

    def check(self, choice: Choice) -> Choice:
        """Give the choice back when its name is allowed; otherwise say what is, and what was probably meant."""
        if choice.name in self.known or names_attribute(choice.name):
            return choice
        if self.pattern and re.fullmatch(self.pattern, choice.name, re.ASCII):
            return choice
        raise _wrong(self._refusal(choice.name), "name")

    def _refusal(self, name: str) -> str:
        if not self.known:
            return f'"{name}" is not understood; name it as module:attribute'
        if not self.pattern:
            return choose("", name, [*self.known, "module:attribute"])
        meant = nearest(name, self.known)
        hint = f' (did you mean "{meant}"?)' if meant else ""
        first = next(iter(self.known))
        return f'"{name}" is not understood; write a class by name, such as {first}, or module:attribute{hint}'


def _mapping_schema(name: dict[str, Any], arguments: Arguments | None = None) -> dict[str, Any]:
    """The JSON schema of a name with arguments: those that are known, or any."""
    properties = {"name": name} | {each: kind_schema(kind) for each, kind in (arguments or {}).items()}
    rest = arguments is None
    return {"type": "object", "properties": properties, "required": ["name"], "additionalProperties": rest}


def _plain(value: Any, path: tuple[str, ...]) -> Any:
    """A copy made of lists and dicts only; refuses what a job file could not say."""
    if len(path) > _DEPTH_LIMIT:
        raise _wrong(f"the arguments are nested more than {_DEPTH_LIMIT} deep", path[0])
    if value is None or isinstance(value, bool | int | float | str):
        return _sound(value, path)
    if isinstance(value, list | tuple):
        return [_plain(each, (*path, str(index))) for index, each in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(each, (*path, key)) for key, each in value.items()}
    allowed = "numbers, text, true, false, null, lists and mappings named by words"
    raise _wrong(f"a value of type {type(value).__name__} cannot stand in a job; arguments are {allowed}", *path)


def _sound(value: bool | int | float | str | None, path: tuple[str, ...]) -> bool | int | float | str | None:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise _wrong("the number does not fit into 64 bits", *path)
    if isinstance(value, float) and math.isnan(value):
        raise _wrong("NaN is no value to train with", *path)
    if isinstance(value, str) and any("\ud800" <= each <= "\udfff" for each in value):
        raise _wrong("the text holds half a character (a lone surrogate)", *path)
    return value


def _wrong(message: str, *inside: str) -> PydanticCustomError:
    """An error about the part `inside` of a choice; whoever reports it adds where the choice stands."""
    return PydanticCustomError("choice", "{message}", {"message": message, "inside": inside})
