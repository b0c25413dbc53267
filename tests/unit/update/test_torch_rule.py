"""Optimizers and schedules by name."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stretto.errors import ModelError
from stretto.job import Choice
from stretto.update.torch_rule import TorchRule, load_rule


def rule(optimizer: Choice, schedule: Choice | None = None, per: str = "update", length: int | None = 10) -> TorchRule:
    return load_rule([nn.Parameter(torch.ones(3))], optimizer, 0.1, schedule, per, length)


def test_any_optimizer_of_torch_is_found_by_its_name() -> None:
    made = rule(Choice("SGD", {"momentum": 0.9})).optimizer
    assert isinstance(made, torch.optim.SGD)
    assert (made.param_groups[0]["momentum"], made.param_groups[0]["lr"]) == (0.9, 0.1)


def test_a_schedule_that_needs_the_length_of_the_training_is_given_it() -> None:
    cosine = rule(Choice("SGD"), Choice("CosineAnnealingLR"))
    for _ in range(10):
        cosine.optimizer.step()
        cosine.updated()
    assert cosine.learning_rate == pytest.approx(0.0, abs=1e-9)


def test_a_schedule_per_epoch_waits_for_epochs() -> None:
    steps = rule(Choice("SGD"), Choice("StepLR", {"step_size": 1, "gamma": 0.5}), per="epoch")
    steps.optimizer.step()
    steps.updated()
    assert steps.learning_rate == 0.1
    steps.epoch_ended()
    assert steps.learning_rate == 0.05


def test_a_schedule_that_waits_for_a_plateau_follows_the_watched_metric() -> None:
    plateau = rule(Choice("SGD"), Choice("ReduceLROnPlateau", {"patience": 0}))
    for _ in range(3):
        plateau.updated()
        plateau.validated(1.0)
    assert plateau.learning_rate < 0.1


def test_what_is_remembered_includes_the_schedule() -> None:
    first, second = (rule(Choice("Adam"), Choice("CosineAnnealingLR")) for _ in range(2))
    first.optimizer.step()
    first.updated()
    second.load_state_dict(first.state_dict())
    assert second.learning_rate == first.learning_rate


@pytest.mark.parametrize(
    ("optimizer", "schedule", "words"),
    [
        (Choice("Adaam"), None, 'did you mean "Adam"'),
        (Choice("SGD", {"momentun": 0.9}), None, "momentum"),
        (Choice("SGD"), Choice("CosineLR"), "CosineAnnealingLR"),
        (Choice("SGD"), Choice("StepLR"), "step_size"),
    ],
)
def test_mistakes_are_named_with_what_is_allowed(optimizer: Choice, schedule: Choice | None, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        rule(optimizer, schedule)
