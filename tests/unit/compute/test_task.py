"""Losses are sums over samples, and know what they are to be divided by."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from stretto.compute.task import FunctionTask, LanguageModelling, Regression, Task, load_task
from stretto.errors import ModelError
from stretto.job import Choice


def mean(task: Task, outputs: Tensor, targets: Tensor) -> Tensor:
    return task.loss(outputs, targets) / task.weight(targets)


@pytest.mark.parametrize("name", ["classification", "regression", "language_modelling"])
def test_a_batch_and_its_parts_have_the_same_mean(name: str) -> None:
    torch.manual_seed(0)
    task = load_task(Choice(name))
    outputs, targets = {
        "classification": (torch.randn(7, 5), torch.randint(5, (7,))),
        "regression": (torch.randn(7, 2), torch.randn(7, 2)),
        "language_modelling": (torch.randn(7, 4, 9), torch.randint(9, (7, 4)).index_fill(1, torch.tensor(0), -100)),
    }[name]
    whole = mean(task, outputs, targets)
    parts = [(outputs[a:b], targets[a:b]) for a, b in ((0, 3), (3, 3), (3, 7))]
    total = sum(task.loss(*part) for part in parts) / sum(task.weight(targets) for _, targets in parts)
    assert torch.allclose(whole, total)


def test_regression_is_the_mean_squared_error_whatever_the_shape_of_the_targets() -> None:
    outputs, targets = torch.randn(6, 1), torch.randn(6)
    assert torch.allclose(mean(Regression(), outputs, targets), F.mse_loss(outputs.squeeze(1), targets))


def test_ignored_tokens_do_not_count() -> None:
    targets = torch.tensor([[1, -100], [-100, -100]])
    assert LanguageModelling().weight(targets) == 1


def test_a_function_may_return_a_loss_per_sample_or_their_mean() -> None:
    outputs, targets = torch.randn(4, 3), torch.randn(4, 3)

    def one(a: Tensor, b: Tensor) -> Tensor:
        return (a - b).abs().mean()

    def each(a: Tensor, b: Tensor) -> Tensor:
        return (a - b).abs()

    first, second = (mean(FunctionTask(function), outputs, targets) for function in (one, each))
    assert torch.allclose(first, second)


def test_a_function_that_returns_no_tensor_is_named() -> None:
    with pytest.raises(ModelError, match="returned float"):
        FunctionTask(lambda outputs, targets: 1.0).loss(torch.ones(1), torch.ones(1))  # type: ignore[arg-type,return-value]


def test_an_unknown_task_names_the_nearest() -> None:
    with pytest.raises(ModelError, match='did you mean "classification"'):
        load_task(Choice("clasification"))
