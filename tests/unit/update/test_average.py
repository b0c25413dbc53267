"""The moving average of the weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stretto.observe.training import Training
from stretto.update.average import Average


def moved(net: nn.Linear, average: Average, training: Training) -> None:
    with torch.no_grad():
        net.weight += 1.0
    average.on_train_batch_end(training)


def test_the_average_follows_the_weights_by_its_decay() -> None:
    net = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(net.weight)
    average = Average(net, 0.5)
    training = Training(model=net, optimizer=None, job=None)  # type: ignore[arg-type]
    expected = 0.0
    for update in range(1, 30):
        moved(net, average, training)
        decay = min(0.5, (1 + update) / (10 + update))
        expected = decay * expected + (1 - decay) * update
    with average.applied():
        assert net.weight.item() == pytest.approx(expected, rel=1e-5)
    assert net.weight.item() == 29.0


def test_the_models_own_weights_come_back_even_after_an_error() -> None:
    net = nn.Linear(2, 2)
    before = net.weight.detach().clone()
    average = Average(net, 0.9)
    with torch.no_grad():
        net.weight *= 2
    with pytest.raises(ValueError, match="stop"), average.applied():
        raise ValueError("stop")
    assert torch.equal(net.weight.detach(), before * 2)


def test_the_average_is_remembered() -> None:
    net = nn.Linear(2, 2)
    first, second = Average(net, 0.9), Average(net, 0.9)
    moved(net, first, Training(model=net, optimizer=None, job=None))  # type: ignore[arg-type]
    second.load_state_dict(first.state_dict())
    with first.applied():
        expected = net.weight.detach().clone()
    with second.applied():
        assert torch.equal(net.weight.detach(), expected)
