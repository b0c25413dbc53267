"""Local SGD meets when it should."""

from __future__ import annotations

import pytest
import torch
from seats import together
from torch import nn

from stretto.communicate.transport import Transport
from stretto.compute.precision import Precision
from stretto.compute.replica import Replica
from stretto.compute.task import Regression
from stretto.data.batch import Batch
from stretto.strategies.local_sgd import LocalSgd
from stretto.update.torch_rule import TorchRule


def replica(seed: int) -> Replica:
    torch.manual_seed(seed)
    net = nn.Linear(3, 1)
    rule = TorchRule(torch.optim.SGD(net.parameters(), lr=0.1))
    return Replica(net, Regression(), rule, Precision("fp32", "cpu"), nominal=4)


@pytest.mark.parametrize("interval", [1, 3])
def test_replicas_are_equal_at_every_meeting_and_only_there(interval: int) -> None:
    def act(transport: Transport) -> list[tuple[bool, list[float]]]:
        own, strategy = replica(transport.rank), LocalSgd(interval)
        strategy.join(own, transport)
        history = []
        for step in range(6):
            strategy.before_step(step)
            generator = torch.Generator().manual_seed(10 * step + transport.rank)
            inputs, targets = torch.randn(2, 3, generator=generator), torch.randn(2, generator=generator)
            met = strategy.after_backward(step, own.learn([Batch(inputs, targets, torch.arange(2))]), meet=step == 4)
            history.append((met is not None, own.model.weight.detach().flatten().tolist()))
        return history

    first, second = together(2, act)
    for step, (mine, theirs) in enumerate(zip(first, second, strict=True)):
        assert mine[0] == theirs[0] == (step == 4 or (step + 1) % interval == 0)
        assert (mine[1] == theirs[1]) == mine[0]


def test_a_meeting_tells_of_all_steps_since_the_last() -> None:
    def act(transport: Transport) -> list[float]:
        own, strategy = replica(0), LocalSgd(2)
        strategy.join(own, transport)
        part = Batch(torch.ones(3, 3), torch.ones(3), torch.arange(3))
        tallies = [strategy.after_backward(step, own.learn([part]), meet=False) for step in range(4)]
        return [tally.samples for tally in tallies if tally is not None]

    assert together(2, act) == [[12.0, 12.0]] * 2
