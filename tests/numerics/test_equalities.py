"""What must stay equal, however a training is spread out; every parameter is compared."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from training_world import Busy, a_job, samples, train

from stretto.checkpoint.folder import FolderStore
from stretto.data.order import Permutation, mix_seeds
from stretto.observe.callback import Callback
from stretto.observe.run_folder import RunFolder
from stretto.observe.training import Training
from stretto.roles.balance import Balance
from stretto.run.equipment import weights_of


def assert_equal(seats: list[dict[str, Tensor]], expected: dict[str, Tensor], tolerance: float = 1e-9) -> None:
    for rank, seat in enumerate(seats):
        for name, tensor in expected.items():
            if rank and name.startswith("average/"):  # what is equal is kept by the first seat
                continue
            torch.testing.assert_close(
                seat[name], tensor, rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
            )


def laptop(batch: int, epochs: int, lr: float, clip: float | None = None, seed: int = 0) -> dict[str, Tensor]:
    """The loop that a person would write, on the same samples in the same order."""
    torch.manual_seed(seed)
    model = Busy().double()
    torch.manual_seed(seed)
    inputs, targets = samples(37)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for epoch in range(epochs):
        order = torch.as_tensor(list(Permutation(37, mix_seeds(seed, epoch)).take(0, 37)))
        for indices in order.split(batch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs[indices]), targets[indices]).backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
    return model.state_dict()


@pytest.mark.parametrize("strategy", ["synchronous", {"name": "local_sgd", "interval": 3}])
@pytest.mark.parametrize("clip", [None, 0.1])
def test_one_worker_is_a_laptop(strategy: Any, clip: float | None, tmp_path: Path) -> None:
    ours = train(a_job(strategy=strategy, training__clip=clip), tmp_path)
    assert_equal(ours, laptop(batch=8, epochs=2, lr=0.05, clip=clip), tolerance=1e-12)


@pytest.mark.parametrize("workers", [2, 3, 4])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"training__clip": 0.1, "training__average": 0.9},
        {"training__accumulate": 2},
        {"training__optimizer": {"name": "AdamW"}, "training__schedule": "CosineAnnealingLR"},
    ],
    ids=["plain", "clipped and averaged", "accumulated", "adamw with a schedule"],
)
def test_n_workers_are_one_big_batch(workers: int, changes: dict[str, Any], tmp_path: Path) -> None:
    """37 samples in batches of 8: the last batch is of 5, so that with three workers shares differ."""
    model = lambda: Busy(dropout=0.0).double()
    alone = train(a_job(**changes), tmp_path / "one", model=model)[0]
    spread = train(a_job(workers, **changes), tmp_path / "many", model=model)
    assert_equal(spread, alone)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_unequal_shares_are_the_same_big_batch(accumulate: int, tmp_path: Path, monkeypatch: Any) -> None:
    """Shares as of workers of very different speed, which change during the training."""
    told: dict[int, int] = {}

    def shares(balance: Balance) -> tuple[float, ...]:
        told[id(balance)] = told.get(id(balance), 0) + 1
        return (0.7, 0.2, 0.1) if told[id(balance)] % 2 else (0.05, 0.05, 0.9)

    monkeypatch.setattr(Balance, "shares", shares)
    model = lambda: Busy(dropout=0.0).double()
    changes = {"training__until": "8ep", "training__accumulate": accumulate}
    alone = train(a_job(**changes), tmp_path / "one", model=model)[0]
    spread = train(a_job(3, cluster__shares="measured", **changes), tmp_path / "many", model=model)
    assert list(told.values()) == [2, 2, 2]
    assert_equal(spread, alone)


def test_a_seat_without_samples_changes_nothing(tmp_path: Path) -> None:
    """33 samples in batches of 8: the last batch is of one sample, so that with two workers one seat has none."""
    model = lambda: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    data = tuple(torch.utils.data.TensorDataset(*samples(count)) for count in (33, 1))
    alone = train(a_job(), tmp_path / "one", model=model, data=data)[0]
    assert_equal(train(a_job(3), tmp_path / "three", model=model, data=data), alone)


def test_a_seat_without_samples_has_no_part_in_a_mean_of_ones_own(tmp_path: Path) -> None:
    """34 samples: the last batch is of two, of which three normalising workers make two shares and an empty one."""
    model = lambda: Busy(dropout=0.0).double()
    data = tuple(torch.utils.data.TensorDataset(*samples(count)) for count in (34, 4))
    objects = {"task": nn.functional.cross_entropy}
    alone = train(a_job(), tmp_path / "one", model=model, data=data, objects=objects)[0]
    assert_equal(train(a_job(3), tmp_path / "three", model=model, data=data, objects=objects), alone)


@pytest.mark.parametrize(("strategy", "equal"), [("synchronous", True), ("local_sgd", False)])
def test_workers_that_learn_alone_normalise_alone(strategy: str, equal: bool, tmp_path: Path) -> None:
    seen: dict[int, list[Tensor]] = {0: [], 1: []}

    class Watch(Callback):
        def on_train_batch_end(self, training: Training) -> None:
            seen[training.rank].append(training.model.norm.running_mean.clone())

    train(a_job(2, strategy=strategy), tmp_path, objects={"callbacks": [Watch()]})
    assert torch.equal(seen[0][0], seen[1][0]) == equal


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_interval_one_is_synchronous(momentum: float, tmp_path: Path) -> None:
    model = lambda: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    data = tuple(torch.utils.data.TensorDataset(*samples(count)) for count in (32, 8))
    changes = {"training__optimizer": {"name": "SGD", "momentum": momentum}}
    together = train(a_job(2, **changes), tmp_path / "s", model=model, data=data)[0]
    local = a_job(2, strategy={"name": "local_sgd", "interval": 1}, **changes)
    assert_equal(train(local, tmp_path / "l", model=model, data=data), together, tolerance=1e-12)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "strategy", ["synchronous", {"name": "local_sgd", "interval": 2}], ids=["synchronous", "local"]
)
@pytest.mark.parametrize("stop_at", [1, 3, 5, 7])
def test_stopped_and_resumed_is_never_stopped(workers: int, strategy: Any, stop_at: int, tmp_path: Path) -> None:
    """Five steps an epoch, three epochs: stopped in the middle, at the end of one, and once more after resuming."""
    changes = {
        "training__until": "3ep",
        "training__average": 0.9,
        "training__schedule": "CosineAnnealingLR",
        "training__optimizer": {"name": "Adam"},
        "strategy": strategy,
    }
    job = a_job(workers, **changes)
    whole = train(job, tmp_path / "whole")
    train(job, tmp_path / "parts", stop_at=stop_at)
    train(job, tmp_path / "parts", stop_at=4, go_on=True)
    resumed = train(job, tmp_path / "parts", go_on=True)
    for expected, found in zip(whole, resumed, strict=True):
        for name, tensor in expected.items():
            assert torch.equal(found[name], tensor), name


def test_a_run_resumed_with_another_number_of_workers_goes_on(tmp_path: Path) -> None:
    model = lambda: Busy(dropout=0.0).double()
    whole = train(a_job(training__until="3ep"), tmp_path / "whole", model=model)[0]
    train(a_job(3, training__until="3ep"), tmp_path / "parts", model=model, stop_at=4)
    assert_equal(train(a_job(2, training__until="3ep"), tmp_path / "parts", model=model, go_on=True), whole)


def test_the_average_that_is_validated_is_the_one_that_is_handed_out(tmp_path: Path) -> None:
    """Workers that learn alone have averages of their own; the metrics must not be a mixture of them."""
    seen: list[float] = []

    class Watch(Callback):
        def on_validation_end(self, training: Training) -> None:
            seen.append(training.metrics["loss"])

    strategy = {"name": "local_sgd", "interval": 5}
    job = a_job(2, training__average=0.5, training__normalisation="local", strategy=strategy)
    train(job, tmp_path, objects={"callbacks": [Watch()]})
    judged = Busy().double()
    judged.load_state_dict(weights_of(FolderStore(RunFolder(tmp_path).checkpoints).load()))
    inputs, targets = samples(11)
    loss = nn.functional.cross_entropy(judged.eval()(inputs), targets)
    assert seen[-1] == pytest.approx(loss.item(), rel=1e-12)


def test_the_model_handed_in_is_the_model_that_is_trained(tmp_path: Path) -> None:
    given = Busy().double()
    before = copy.deepcopy(given.state_dict())
    after = train(a_job(), tmp_path, model=lambda: given)[0]
    assert not torch.equal(before["first.weight"], after["first.weight"])
    assert torch.equal(before["unused"], after["unused"])
