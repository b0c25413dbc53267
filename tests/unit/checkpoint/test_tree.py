"""Any state a trainer has goes through flatten, JSON and back, bit for bit."""

import copy
import json
import random
from collections import Counter, OrderedDict

import pytest
import torch
from checkpoint_world import equal
from hypothesis import given
from hypothesis import strategies as some

from stretto.checkpoint.tree import flatten, unflatten
from stretto.errors import CheckpointError


def there_and_back(state):
    tensors, values = flatten(state)
    return unflatten(tensors, json.loads(json.dumps(values, allow_nan=False)))


LEAVES = (
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text()
    | some.binary()
    | some.builds(
        lambda shape: torch.arange(6.0)[: shape[0] * shape[1]].reshape(shape),
        some.tuples(some.integers(0, 3), some.integers(0, 2)),
    )
)
KEYS = some.text() | some.integers() | some.tuples(some.integers(), some.text())
STATES = some.recursive(
    LEAVES,
    lambda inner: some.lists(inner) | some.lists(inner).map(tuple) | some.dictionaries(KEYS, inner),
    max_leaves=20,
)


@given(STATES)
def test_any_nesting_comes_back_with_its_types(state):
    assert equal(there_and_back(state), state)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 0.1 + 0.2, 2**200, -1])
def test_every_number_comes_back_exactly(value):
    assert repr(there_and_back({"value": value})["value"]) == repr(value)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor(3.5),
        torch.tensor([float("nan"), -0.0, float("inf")]),
        torch.empty(0, 4),
        torch.randn(3, 2).bfloat16(),
        torch.arange(12).reshape(3, 4).t(),
        torch.tensor([True, False]),
        torch.randn(2, dtype=torch.complex64),
    ],
)
def test_every_tensor_comes_back_with_type_and_shape(tensor):
    assert equal(there_and_back([tensor])[0], tensor)


def test_tensors_have_readable_names():
    model = torch.nn.Sequential(OrderedDict(conv1=torch.nn.Conv2d(1, 1, 1)))
    tensors, _ = flatten({"model": model.state_dict(), "rng": [torch.zeros(1)]})
    assert list(tensors) == ["model/conv1.weight", "model/conv1.bias", "rng/0"]


def test_names_that_would_read_alike_stay_apart():
    state = {0: torch.zeros(1), "0": torch.ones(1), "a/b": torch.zeros(2), "a": {"b": torch.ones(2)}}
    tensors, _ = flatten(state)
    assert len(tensors) == 4
    assert equal(there_and_back(state), state)


def test_a_state_may_use_the_names_that_mean_something_here():
    state = {"$tensor": "x", "__metadata__": torch.zeros(1), "inner": {"$dict": [1]}}
    assert equal(there_and_back(state), state)
    assert "__metadata__" not in flatten(state)[0]


def test_a_state_that_is_one_tensor_or_nothing_is_a_state():
    assert equal(there_and_back(torch.ones(2)), torch.ones(2))
    assert there_and_back(None) is None
    assert there_and_back({}) == {}


def test_tied_weights_are_stored_once_and_come_back_tied():
    weight = torch.randn(3, 3)
    state = {"embedding": weight, "head": weight.detach(), "transposed": weight.t(), "part": weight[:1]}
    assert list(flatten(state)[0]) == ["embedding", "transposed", "part"]
    back = there_and_back(state)
    assert back["embedding"] is back["head"]
    assert equal(back, state)


def test_parameters_come_back_as_tensors_without_a_graph():
    parameter = torch.nn.Parameter(torch.ones(2))
    back = there_and_back([parameter])[0]
    assert type(back) is torch.Tensor
    assert not back.requires_grad


def test_optimizers_schedules_and_generators_of_every_kind_come_back():
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.8, 0.99), amsgrad=True)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    schedules = [
        torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 2, 5]),
        torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer),
        torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=9),
        torch.optim.lr_scheduler.SequentialLR(
            optimizer, [torch.optim.lr_scheduler.ConstantLR(optimizer) for _ in range(2)], [3]
        ),
    ]
    state = {
        "optimizer": optimizer.state_dict(),
        "schedules": [schedule.state_dict() for schedule in schedules],
        "python": random.getstate(),
        "torch": torch.get_rng_state(),
    }
    back = there_and_back(state)
    assert equal(back, state)
    assert type(back["schedules"][0]["milestones"]) is Counter
    for schedule, loaded in zip(schedules, back["schedules"], strict=True):
        schedule.load_state_dict(copy.deepcopy(loaded))
    random.setstate(back["python"])


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        ({"callbacks": [{"when": {1, 2}}]}, '"callbacks/0/when" is of type builtins.set'),
        (object(), "the state is of type builtins.object"),
        ({"mask": torch.eye(2).to_sparse()}, 'tensor "mask" is sparse or quantized'),
        ({"weight": torch.empty(2, device="meta")}, 'tensor "weight" has no data'),
    ],
)
def test_what_a_checkpoint_cannot_hold_is_refused_by_its_place(state, complaint):
    with pytest.raises(CheckpointError, match=complaint):
        flatten(state)


def test_values_that_name_a_tensor_which_is_not_there_are_refused():
    with pytest.raises(CheckpointError, match=r"hold \$tensor: 'lost', which has no meaning here"):
        unflatten({}, {"model": {"$tensor": "lost"}})
