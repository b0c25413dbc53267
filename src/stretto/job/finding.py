"""From a word of the job to the thing it names, and from the arguments given with it to a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from stretto.errors import StrettoError, choose
from stretto.job.choice import Choice

Refusal = Callable[[str], StrettoError]


def find(key: str, name: str, table: Mapping[str, str], error: Refusal) -> Any:
    """Find a word of a table of `module:attribute`, or whatever a person named in that form.

    What a person's own module raises while it is imported passes unchanged.

    >>> find("strategy", "json:dumps", {}, StrettoError)({"a": 1})
    '{"a": 1}'
    """
    if name not in table and ":" not in name:
        raise error(f"{choose(key, name, table)}, or name your own as module:attribute")
    path = table.get(name, name)
    module, _, attribute = path.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{module}.".startswith(f"{missing.name}."):
            raise  # something that the person's own module imports
        raise error(f'{key} "{path}": there is no module "{missing.name}"; start where it can be imported') from missing
    except AttributeError as missing:
        raise error(f'{key} "{path}": module "{module}" has no "{attribute}"') from missing


def make(key: str, choice: Choice, table: Mapping[str, str], error: Refusal, **known: Any) -> Any:
    """Find what a choice names and call it with the choice's arguments, and with what it takes of what is `known`.

    What the call raises passes unchanged for a person's own, and is explained for a word of ours.
    """
    function = find(key, choice.name, table, error)
    arguments = _complete(key, function, choice, known, error)
    try:
        return function(**arguments)
    except (TypeError, ValueError, RuntimeError) as refusal:
        if choice.name not in table:
            raise
        raise error(f"{key} {choice.name} cannot use {arguments}: {refusal}") from refusal


def _complete(
    key: str, function: Callable[..., Any], choice: Choice, known: Mapping[str, Any], error: Refusal
) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    open_ended = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for argument in choice.arguments:
        if argument not in parameters and not open_ended:
            raise error(choose(f"argument of {key} {choice.name}", argument, parameters or ["(none)"]))
    arguments = {name: known[name] for name in parameters if name in known} | choice.arguments
    missing = [name for name, each in parameters.items() if _is_needed(each) and name not in arguments]
    if missing:
        raise error(f"{key} {choice.name} needs {', '.join(missing)}; say it in the job")
    return arguments


def _is_needed(parameter: inspect.Parameter) -> bool:
    many = (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    return parameter.default is parameter.empty and parameter.kind not in many
