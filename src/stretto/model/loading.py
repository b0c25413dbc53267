"""From a job's `model:` to a module."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torch import nn

from stretto.errors import ModelError, choose
from stretto.model.zoo import MODELS

if TYPE_CHECKING:
    from stretto.job import Choice


def load_model(choice: Choice, facts: Mapping[str, Any]) -> nn.Module:
    """Build the model a job names: a word of the zoo, or `module:Class` (or a function) that makes a module.

    What the job leaves out is taken from the data's `facts`, where the model has a parameter of that name: a ResNet
    gets `classes` and `channels` without being told. Raises `ModelError` for unknown words and arguments; what a
    person's own class raises passes unchanged.
    """
    ours = choice.name in MODELS
    if not ours and ":" not in choice.name:
        raise ModelError(f"{choose('model', choice.name, MODELS)}, or name a class of yours as module:Class")
    builder = _find(MODELS[choice.name] if ours else choice.name)
    arguments = _complete(builder, choice, facts)
    try:
        model = builder(**arguments)
    except (TypeError, ValueError, RuntimeError) as error:
        if not ours:
            raise
        raise ModelError(f"model {choice.name} cannot be built from {arguments}: {error}") from error
    if not isinstance(model, nn.Module):
        raise ModelError(f"model {choice.name} gave {type(model).__name__}; it must give a torch.nn.Module")
    return model


def _find(path: str) -> Any:
    module, _, attribute = path.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # something that the person's own module imports
        raise ModelError(f'model "{path}": there is no module "{error.name}"; run where it can be imported') from error
    except AttributeError as error:
        raise ModelError(f'model "{path}": module "{module}" has no "{attribute}"') from error


def _complete(builder: Any, choice: Choice, facts: Mapping[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(builder).parameters
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for argument in choice.arguments:
        if argument not in parameters and not takes_any:
            raise ModelError(choose(f"argument of model {choice.name}", argument, parameters or ["(none)"]))
    arguments = {name: facts[name] for name in parameters if name in facts} | choice.arguments
    missing = [name for name, each in parameters.items() if _is_needed(each) and name not in arguments]
    if missing:
        raise ModelError(f"model {choice.name} needs {', '.join(missing)}, which the data does not tell; give it")
    return arguments


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_KEYWORD,
        parameter.VAR_POSITIONAL,
    )
