"""Half precision computes in fewer bits, and fp16 leaves out updates that overflowed."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stretto.compute.precision import Precision


@pytest.mark.parametrize(
    ("name", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)]
)
def test_forward_computes_in_the_named_format_and_parameters_stay_fp32(name: str, dtype: torch.dtype) -> None:
    net = nn.Linear(4, 2)
    with Precision(name, "cpu").computing():
        assert net(torch.ones(1, 4)).dtype is dtype
    assert net.weight.dtype is torch.float32


def test_an_overflowing_gradient_changes_nothing_and_lowers_the_scale() -> None:
    weight = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    precision = Precision("fp16", "cpu")
    scale = precision.scale(torch.ones(())).item()
    weight.grad = torch.tensor([1.0, float("inf")])
    precision.unscale(optimizer)
    assert precision.update(optimizer) is False
    assert torch.equal(weight.detach(), torch.ones(2))
    assert precision.scale(torch.ones(())).item() < scale


def test_the_scale_is_remembered() -> None:
    first, second = Precision("fp16", "cpu"), Precision("fp16", "cpu")
    first.scale(torch.ones(()))
    state = first.state_dict() | {"scale": 8.0}
    second.load_state_dict(state)
    assert second.scale(torch.ones(())).item() == 8.0
