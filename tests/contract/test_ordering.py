"""What every order promises, whichever samples it chooses."""

import numpy as np
import pytest
from data_world import Numbers

from stretto.data import ORDERS
from stretto.data.ordering import load_ordering
from stretto.job import Choice

SAMPLES = 60
CHOICES = {
    "none": None,
    "shuffled": Choice("shuffled"),
    "in_order": Choice("in_order"),
    "with_replacement": Choice("with_replacement"),
    "bootstrap": Choice("bootstrap"),
    "class_balanced": Choice("class_balanced"),
    "weighted": Choice("weighted", {"weights": "weights.npy"}),
    "importance": Choice("importance", {"smoothing": 0.5}),
    "many draws": Choice("with_replacement", {"draws": 200}),
    "few draws": Choice("bootstrap", {"draws": 30}),
    "one's own": Choice(f"{__name__}:Backwards"),
}
SHUFFLES = sorted(CHOICES.keys() - {"in_order", "one's own"})


class Backwards:
    def __init__(self, source):
        self.size = len(source)

    def __len__(self):
        return self.size

    def take(self, epoch, start, stop):
        if not 0 <= start <= stop <= self.size:
            raise IndexError(f"{start} to {stop}")
        return self.size - 1 - np.arange(start, stop)


class Grouped(Numbers):
    """Numbers that stand in blocks of 1, 2, 3, ... and are of three classes, most of the first."""

    blocks = (*range(1, 11), 5)

    def labels(self):
        return np.maximum(np.arange(self.size) % 6 - 3, 0)


def made(name, seed=0):
    return load_ordering(CHOICES[name], Grouped(SAMPLES), seed)


@pytest.fixture(params=CHOICES)
def name(request):
    return request.param


@pytest.fixture(autouse=True)
def weights(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("weights.npy", np.arange(SAMPLES))


def whole(ordering, epoch=0):
    return ordering.take(epoch, 0, len(ordering)).tolist()


def test_every_order_of_ours_is_tried():
    assert {choice.name for choice in CHOICES.values() if choice} >= set(ORDERS)


def test_it_chooses_samples_of_the_source(name):
    chosen = made(name).take(3, 0, 30)
    assert (chosen.dtype, chosen.shape) == (np.int64, (30,))
    assert chosen.min() >= 0
    assert chosen.max() < SAMPLES


def test_an_epoch_is_the_same_however_it_is_cut(name):
    ordering = made(name)
    cut = [ordering.take(2, start, min(start + 7, len(ordering))) for start in range(0, len(ordering), 7)]
    assert np.concatenate(cut).tolist() == whole(ordering, 2)


def test_nobody_has_to_be_asked_because_every_process_makes_the_same(name):
    one, other = made(name), made(name)
    one.take(0, 0, 10)
    assert whole(one, 5) == whole(other, 5)


def test_nothing_can_be_taken_too(name):
    assert made(name).take(1, 4, 4).tolist() == []


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (5, 4), (0, 1000)])
def test_what_lies_outside_is_refused(name, start, stop):
    with pytest.raises(IndexError, match=f"{start} to {stop}"):
        made(name).take(0, start, stop)


@pytest.mark.parametrize("name", SHUFFLES)
def test_epochs_and_seeds_give_orders_of_their_own(name):
    orders = {tuple(whole(made(name, seed), epoch)) for seed in range(5) for epoch in range(5)}
    assert len(orders) == 25
