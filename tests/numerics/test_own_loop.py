"""A loop of one's own on several workers does what it does alone."""

from __future__ import annotations

import pytest
import torch
from processes import forked
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from stretto.run.own_loop import attach


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 3)
        self.sometimes = nn.Linear(16, 3)
        self.calls = 0

    def forward(self, inputs: Tensor) -> Tensor:
        self.calls += 1
        hidden = torch.relu(self.norm(self.first(inputs)))
        return self.last(hidden) + (self.sometimes(hidden) if self.calls % 3 == 0 else 0.0)


def data() -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    return TensorDataset(torch.randn(37, 6, generator=generator), torch.randint(3, (37,), generator=generator))


def own_loop(accumulate: int, clip: bool, spread: bool) -> dict[str, Tensor]:
    torch.manual_seed(0)
    model = Net().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = DataLoader(data(), batch_size=8, shuffle=False)
    if spread:
        model, optimizer, loader = attach(model, optimizer, loader)
    for _ in range(3):
        for index, (inputs, targets) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(inputs.double()), targets) / accumulate
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            if (index + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


@pytest.mark.parametrize(("size", "accumulate", "clip"), [(2, 1, False), (3, 1, True), (2, 2, False)])
def test_every_parameter_equals_that_of_the_loop_alone(size: int, accumulate: int, clip: bool) -> None:
    alone = own_loop(accumulate, clip, spread=False)
    for seat in forked(size, lambda rank: own_loop(accumulate, clip, spread=True)):
        assert seat.keys() == alone.keys()
        for name, tensor in alone.items():
            torch.testing.assert_close(seat[name], tensor, rtol=1e-9, atol=1e-11, msg=name)


def test_started_alone_nothing_changes() -> None:
    model = nn.Linear(2, 2)
    optimizer, loader = torch.optim.SGD(model.parameters(), lr=0.1), DataLoader(data(), batch_size=4)
    assert attach(model, optimizer, loader) == (model, optimizer, loader)
