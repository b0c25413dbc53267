"""Batch normalisation over seats equals one nn.BatchNorm on all their samples: n workers are one big batch."""

from __future__ import annotations

import copy

import pytest
import torch
from seats_world import run_seats
from torch import nn

from stretto.data.split import even_split
from stretto.model.normalisation import synchronise

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
SHAPES = {nn.BatchNorm1d: (12, 5), nn.BatchNorm2d: (12, 5, 4, 3), nn.BatchNorm3d: (12, 5, 3, 2, 2)}
SHARES = [[6, 6], [7, 5], [12, 0], [4, 4, 4], [1, 11, 0], [0, 0, 12], [1, 1, 10]]


def learn(model, inputs, weights):
    """One forward and backward of a loss that is a sum over samples, as the loop's are."""
    inputs = inputs.clone().requires_grad_()
    outputs = model(inputs)
    (outputs * weights).pow(2).sum().backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.requires_grad}
    return outputs.detach(), inputs.grad, gradients


def compare(model, inputs, shares, steps=2):
    weights = torch.randn_like(inputs)
    single, replicas = copy.deepcopy(model), [copy.deepcopy(model) for _ in shares]

    def body(transport):
        replica = synchronise(replicas[transport.rank], transport)
        parts = zip(inputs.split(shares), weights.split(shares), strict=True)
        mine, my_weights = list(parts)[transport.rank]
        for _ in range(steps):
            replica.zero_grad()
            result = learn(replica, mine, my_weights)
        return (*result, replica)

    for _ in range(steps):
        single.zero_grad()
        outputs, of_inputs, gradients = learn(single, inputs, weights)
    seats = run_seats(len(shares), body)
    torch.testing.assert_close(torch.cat([seat[0] for seat in seats]), outputs, **CLOSE)
    torch.testing.assert_close(torch.cat([seat[1] for seat in seats]), of_inputs, **CLOSE)
    for name, gradient in gradients.items():
        torch.testing.assert_close(sum(seat[2][name] for seat in seats), gradient, **CLOSE)
    for seat in seats:
        for name, value in single.state_dict().items():
            torch.testing.assert_close(seat[3].state_dict()[name], value, **CLOSE)
        assert all(parameter.grad is None for parameter in seat[3].parameters() if not parameter.requires_grad)


@pytest.mark.parametrize("shares", SHARES, ids=str)
@pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.__name__)
def test_every_output_statistic_and_gradient_equals_the_big_batch(kind, shares):
    torch.manual_seed(1)
    norm = kind(5).double()
    nn.init.uniform_(norm.weight)
    nn.init.uniform_(norm.bias)
    compare(norm, torch.randn(SHAPES[kind], dtype=torch.float64) * 3 + 100, shares)


@pytest.mark.parametrize(
    "options",
    [{"affine": False}, {"momentum": None}, {"track_running_stats": False}, {"eps": 0.1, "momentum": 0.5}],
    ids=str,
)
def test_every_option_of_batch_norm_means_the_same(options):
    torch.manual_seed(2)
    compare(nn.BatchNorm2d(3, **options).double(), torch.randn(9, 3, 4, 4, dtype=torch.float64), [5, 0, 4])


def test_a_frozen_weight_or_bias_stays_frozen():
    torch.manual_seed(3)
    norm = nn.BatchNorm1d(4).double()
    norm.weight.requires_grad_(False)
    compare(norm, torch.randn(6, 4, dtype=torch.float64), [2, 4])


def test_a_deep_network_with_branches_agrees_in_every_parameter():
    torch.manual_seed(4)

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
            self.left = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4))
            self.right = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4))

        def forward(self, inputs):
            stem = self.first(inputs)
            return (self.left(stem) + self.right(stem)).relu().mean((2, 3))

    model = Branches().double()
    inputs = torch.randn(11, 3, 6, 6, dtype=torch.float64)
    single, replicas = copy.deepcopy(model), [copy.deepcopy(model) for _ in range(3)]
    shares = [len(part) for part in even_split(11, 3)]

    def body(transport):
        replica = synchronise(replicas[transport.rank], transport)
        replica(inputs.split(shares)[transport.rank]).pow(2).sum().backward()
        return {name: parameter.grad for name, parameter in replica.named_parameters()}

    single(inputs).pow(2).sum().backward()
    seats = run_seats(3, body)
    for name, parameter in single.named_parameters():
        torch.testing.assert_close(sum(seat[name] for seat in seats), parameter.grad, **CLOSE)


def test_float32_agrees_to_rounding_even_far_from_zero():
    torch.manual_seed(5)
    inputs = torch.randn(64, 8, 6, 6) + 1000
    single = nn.BatchNorm2d(8)
    expected = single(inputs)

    def body(transport):
        replica = synchronise(nn.BatchNorm2d(8), transport)
        return replica(inputs.split([40, 24])[transport.rank]).detach(), replica.running_var

    seats = run_seats(2, body)
    torch.testing.assert_close(torch.cat([seat[0] for seat in seats]), expected.detach(), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(seats[0][1], single.running_var, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_inputs_meet_single_precision_weights(dtype):
    torch.manual_seed(6)
    inputs = torch.randn(8, 4, 3, 3).to(dtype)
    expected = nn.BatchNorm2d(4)(inputs.float())

    def body(transport):
        replica = synchronise(nn.BatchNorm2d(4), transport)
        mine = inputs.split([5, 3])[transport.rank].requires_grad_()
        outputs = replica(mine)
        outputs.float().pow(2).sum().backward()
        return outputs.detach(), mine.grad, replica.weight.grad

    seats = run_seats(2, body)
    assert {seat[0].dtype for seat in seats} == {seat[1].dtype for seat in seats} == {dtype}
    assert seats[0][2].dtype == torch.float32
    outputs = torch.cat([seat[0].float() for seat in seats])
    torch.testing.assert_close(outputs, expected.detach(), rtol=0.02, atol=0.02)
