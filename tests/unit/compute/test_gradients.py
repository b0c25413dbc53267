"""Gradients lie flat in buckets, travel as soon as they are complete, and are those of plain PyTorch."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch
from torch import nn

from stretto.compute.gradients import Bucket, Gradients


def model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def learn(net: nn.Module, inputs: torch.Tensor) -> None:
    net(inputs).square().sum().backward()


def travelling(parameters: Iterable[nn.Parameter], bucket_bytes: int = 2**20) -> tuple[Gradients, list[Bucket]]:
    gradients, sent = Gradients(parameters), []
    gradients.travel(sent.append, bucket_bytes)
    return gradients, sent


@pytest.mark.parametrize("travels", [True, False])
def test_gradients_are_those_of_plain_pytorch(travels: bool) -> None:
    ours, plain, inputs = model(), model(), torch.randn(5, 4)
    gradients = travelling(ours.parameters())[0] if travels else Gradients(ours.parameters())
    for _ in range(2):
        gradients.clear()
        learn(ours, inputs)
    gradients.finish()
    gradients.settle(0.5)
    learn(plain, inputs)
    for mine, theirs in zip(ours.parameters(), plain.parameters(), strict=True):
        assert mine.grad is not None
        assert torch.equal(mine.grad, theirs.grad / 2)


def test_gradients_that_stay_are_left_to_pytorch_again() -> None:
    net = model()
    gradients, sent = travelling(net.parameters())
    gradients.stay()
    gradients.clear()
    gradients.closing = True
    learn(net, torch.ones(2, 4))
    gradients.finish()
    assert gradients.buckets == sent == []
    assert all(parameter.grad is not None for parameter in net.parameters())


def test_every_gradient_is_a_view_of_its_bucket() -> None:
    net = model()
    gradients, _ = travelling(net.parameters())
    gradients.clear()
    learn(net, torch.ones(2, 4))
    gradients.buckets[0].flat.zero_()
    assert all(not parameter.grad.any() for parameter in net.parameters() if parameter.grad is not None)


def test_small_buckets_are_handed_out_in_order_while_backward_runs() -> None:
    net = model()
    gradients, sent = travelling(net.parameters(), bucket_bytes=64)
    gradients.clear()
    learn(net, torch.ones(2, 4))
    assert sent == []
    gradients.closing = True
    learn(net, torch.ones(2, 4))
    assert sent == gradients.buckets
    assert len(sent) > 2
    assert all(bucket.used.tolist() == [1.0] * len(bucket.parameters) for bucket in sent)


def test_parameters_that_were_left_out_delay_the_rest_until_finish() -> None:
    net = model()
    unused = nn.Parameter(torch.ones(2))
    gradients, sent = travelling([*net.parameters(), unused], bucket_bytes=8)
    gradients.clear()
    gradients.closing = True
    learn(net, torch.ones(2, 4))
    assert sent == []
    gradients.finish()
    assert sent == gradients.buckets


def test_a_parameter_nobody_used_has_no_gradient() -> None:
    net = model()
    unused = nn.Parameter(torch.ones(2))
    gradients, _ = travelling([*net.parameters(), unused])
    gradients.clear()
    learn(net, torch.ones(2, 4))
    gradients.finish()
    gradients.settle(0.5)
    assert unused.grad is None


def test_a_parameter_that_only_another_seat_used_has_the_others_gradient() -> None:
    net = model()
    gradients, _ = travelling(net.parameters())
    gradients.clear()
    gradients.finish()
    gradients.buckets[0].flat += 3.0  # what the sum over all seats would do
    gradients.settle(1.0)
    assert all(torch.equal(p.grad, torch.full_like(p, 3.0)) for p in net.parameters() if p.grad is not None)
    assert all(p.grad is not None for p in net.parameters())


def test_a_gradient_of_another_seat_is_still_there_after_a_second_backward() -> None:
    net = model()
    gradients, _ = travelling(net.parameters())
    gradients.clear()
    gradients.finish()
    gradients.buckets[0].flat += 3.0
    gradients.settle(1.0)
    gradients.begin()  # on top of what is there, as a loop of one's own accumulates
    gradients.finish()
    gradients.settle(1.0)
    assert all(torch.equal(p.grad, torch.full_like(p, 3.0)) for p in net.parameters() if p.grad is not None)
    assert all(p.grad is not None for p in net.parameters())


def test_a_gradient_that_zero_grad_has_taken_away_finds_its_place_again() -> None:
    net, plain, inputs = model(), model(), torch.randn(3, 4)
    gradients, _ = travelling(net.parameters())
    gradients.clear()
    net.zero_grad(set_to_none=True)
    learn(net, inputs)
    learn(plain, inputs)
    flat = torch.cat([view.reshape(-1) for view in gradients.buckets[0].views])
    expected = torch.cat([p.grad.reshape(-1) for p in reversed(list(plain.parameters())) if p.grad is not None])
    assert torch.equal(flat, expected)


def test_buckets_hold_one_kind_of_number_each() -> None:
    parameters = [nn.Parameter(torch.ones(3, dtype=dtype)) for dtype in (torch.float32, torch.bfloat16, torch.float32)]
    kinds = [{p.dtype for p in bucket.parameters} for bucket in travelling(parameters)[0].buckets]
    assert all(len(kind) == 1 for kind in kinds)
