"""How long, or how often: `3ep`, `2000step`, `10min`, or several, of which the first reached counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from stretto.errors import nearest

_PART = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) ?([A-Za-z]+)", re.ASCII)
_SECONDS = {"s": 1, "min": 60, "h": 3600}
_UNITS = ("ep", "step", *_SECONDS)
_FORM = "write a number and a unit (ep, step, s, min, h), such as 3ep, 2000step or 10min"
_PATTERN = r"^\d+(\.\d+)? ?(ep|step|s|min|h)( or \d+(\.\d+)? ?(ep|step|s|min|h))*$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """An amount of training in epochs, steps or seconds; with several of them, the first that is reached counts.

    >>> budget = Budget.parse("10ep or 5min")
    >>> budget.epochs, budget.steps, budget.seconds, str(budget)
    (10.0, None, 300.0, '10ep or 5min')
    """

    epochs: float | None = None
    steps: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a budget as a person writes it; raises ValueError with what is wrong and what is allowed."""
        amounts: dict[str, Any] = {}
        for part in text.strip().split(" or "):
            field, amount = _amount(part.strip())
            if field in amounts:
                raise ValueError(f'"{text}" gives {field} twice; keep one')
            amounts[field] = amount
        return cls(**amounts)

    def reached(self, *, epochs: float, steps: int, seconds: float) -> bool:
        """Whether any of the amounts has been used up after so much training."""
        spent = ((self.epochs, epochs), (self.steps, steps), (self.seconds, seconds))
        return any(limit is not None and used >= limit for limit, used in spent)

    def __str__(self) -> str:
        parts = []
        if self.epochs is not None:
            parts.append(f"{_plain(self.epochs)}ep")
        if self.steps is not None:
            parts.append(f"{self.steps}step")
        if self.seconds is not None:
            parts.append(_duration(self.seconds))
        return " or ".join(parts)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "pattern": _PATTERN, "examples": ["3ep", "2000step", "10min", "10ep or 5min"]}

    @classmethod
    def _validate(cls, value: Any) -> Budget:
        if isinstance(value, Budget):
            return value
        if not isinstance(value, str):
            raise PydanticCustomError("budget", "{message}", {"message": f"{_said(value)} is no budget; {_FORM}"})
        try:
            return cls.parse(value)
        except ValueError as error:
            raise PydanticCustomError("budget", "{message}", {"message": str(error)}) from None


@dataclass(frozen=True, slots=True)
class Units:
    """Which units a key of the job can be counted in, for example `Annotated[Budget, Units("ep", "step")]`."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        units = "|".join(self.names)
        pattern = rf"^\d+(\.\d+)? ?({units})( or \d+(\.\d+)? ?({units}))*$"
        return {"type": "string", "pattern": pattern, "examples": [f"1{self.names[0]}"]}

    @property
    def _check(self) -> Callable[[Budget], Budget]:
        def check(budget: Budget) -> Budget:
            given = {"ep": budget.epochs, "step": budget.steps, "s": budget.seconds}
            if any(amount is not None and unit not in self.names for unit, amount in given.items()):
                message = f'"{budget}" cannot be used here; the unit is {" or ".join(self.names)}'
                raise PydanticCustomError("budget", "{message}", {"message": message})
            return budget

        return check


def _amount(part: str) -> tuple[str, float | int]:
    found = _PART.fullmatch(part)
    if found is None:
        raise ValueError(f'"{part}" is no budget; {_FORM}')
    number, unit = float(found[1]), found[2]
    if unit not in _UNITS:
        meant = nearest(unit, _UNITS) or nearest(unit[:4], _UNITS)
        hint = f' (did you mean "{found[1]}{meant}"?)' if meant else ""
        raise ValueError(f'unit "{unit}" is unknown; {_FORM}{hint}')
    if number == 0:
        raise ValueError(f'"{part}" is nothing; {_FORM}')
    if unit == "ep":
        return "epochs", number
    if unit == "step":
        return "steps", _whole(number, part)
    return "seconds", number * _SECONDS[unit]


def _whole(number: float, part: str) -> int:
    if not number.is_integer():
        raise ValueError(f'"{part}" cuts a step; write a whole number of steps')
    return int(number)


def _duration(seconds: float) -> str:
    unit = next((unit for unit in ("h", "min") if seconds % _SECONDS[unit] == 0), "s")
    return f"{_plain(seconds / _SECONDS[unit])}{unit}"


def _plain(number: float) -> str:
    """A number without exponent and without a trailing zero, exact to the last bit."""
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _said(value: Any) -> str:
    return f'"{value}"' if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
