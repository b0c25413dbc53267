"""From a job's `model:` to a module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from stretto.errors import ModelError
from stretto.job import Choice, make
from stretto.model.zoo import MODELS


def load_model(choice: Choice, facts: Mapping[str, Any]) -> nn.Module:
    """Build the model a job names: a word of the zoo, or `module:Class` (or a function) that makes a module.

    What the job leaves out is taken from the data's `facts`, where the model has a parameter of that name: a ResNet
    gets `classes` and `channels` without being told. Raises `ModelError` for unknown words and arguments; what a
    person's own class raises passes unchanged.
    """
    model = make("model", choice, MODELS, ModelError, **facts)
    if not isinstance(model, nn.Module):
        raise ModelError(f"model {choice.name} gave {type(model).__name__}; it must give a torch.nn.Module")
    return model
