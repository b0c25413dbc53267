"""Every order visits the samples that it is for."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from data_world import Numbers
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.draws import Draws
from stretto.data.order import Permutation, mix_seeds
from stretto.data.ordering import load_ordering
from stretto.data.orders.block_shuffle import BlockShuffle
from stretto.data.orders.bootstrap import Bootstrap
from stretto.data.orders.class_balanced import ClassBalanced
from stretto.data.orders.in_order import InOrder
from stretto.data.orders.shuffled import Shuffled
from stretto.data.orders.swaps import keys_of, swap_places
from stretto.data.orders.weighted import Weighted
from stretto.data.orders.with_replacement import WithReplacement
from stretto.data.portion import hold_out
from stretto.data.sources.arrays import Arrays
from stretto.data.sources.digits import digits
from stretto.errors import DataError
from stretto.job import Choice


def epoch_of(ordering, epoch=0):
    return ordering.take(epoch, 0, len(ordering))


def source_of(size, **beside):
    source = Numbers(size)
    vars(source).update(beside)
    return source


# shuffled, and its blocks


def test_shuffled_visits_every_sample_once_in_the_order_of_seed_and_epoch():
    assert epoch_of(Shuffled(Numbers(50), seed=3), 2).tolist() == Permutation(50, mix_seeds(3, 2)).take(0, 50).tolist()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30), st.integers(1, 40), st.integers(0, 99))
def test_a_shuffle_by_blocks_visits_every_sample_once(blocks, mix, seed):
    everything = BlockShuffle(blocks, mix, seed).at(np.arange(sum(blocks)))
    assert sorted(everything.tolist()) == list(range(sum(blocks)))


def test_places_that_follow_one_another_need_few_blocks_and_mix_these_well():
    blocks = [100 + number % 7 for number in range(200)]
    ordering = Shuffled(source_of(sum(blocks), blocks=blocks), seed=1, mix=8)
    block_of = np.repeat(np.arange(200), blocks)[epoch_of(ordering)]
    windows = [set(block_of[start : start + 400]) for start in range(0, len(block_of) - 400, 37)]
    assert max(map(len, windows)) <= 16
    assert min(map(len, windows)) >= 8
    assert len(set(block_of[:400]) & set(range(8))) < 8  # the blocks themselves are shuffled


def test_a_shuffle_by_blocks_keeps_something_for_each_block_and_nothing_for_each_sample():
    ordering = Shuffled(source_of(10**12, blocks=[10**10] * 100), seed=0)
    assert len(np.unique(ordering.take(0, 5 * 10**11, 5 * 10**11 + 1000) // 10**10)) == 16


def test_blocks_that_do_not_add_up_are_refused():
    with pytest.raises(DataError, match="numbers: its 2 blocks hold 7 samples, but it has 8"):
        Shuffled(source_of(8, blocks=[3, 4]), seed=0)
    with pytest.raises(DataError, match=r"0 blocks cannot be mixed \(loading\.order\.mix\); give 1 or more"):
        Shuffled(source_of(8), seed=0, mix=0)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_many_small_shuffles_make_all_orders_equally_often(size):
    tries, orders = 12_000, list(permutations(range(size)))
    keys = np.repeat(keys_of(np.arange(tries), 7), size)
    shuffled = swap_places(np.tile(np.arange(size), tries), np.full(tries * size, size), keys).reshape(tries, size)
    counts, expected = Counter(map(tuple, shuffled.tolist())), tries / len(orders)
    misfit = sum((counts[order] - expected) ** 2 / expected for order in orders)
    assert misfit < len(orders) + 4 * (2 * len(orders)) ** 0.5


@given(st.lists(st.integers(1, 60), min_size=1, max_size=20), st.integers(0, 2**64 - 1))
def test_shuffles_of_different_sizes_do_not_disturb_one_another(sizes, seed):
    places = np.concatenate([np.arange(size) for size in sizes])
    keys = keys_of(np.repeat(np.arange(len(sizes)), sizes), seed)
    together = swap_places(places, np.repeat(sizes, sizes), keys)
    for part in np.split(together, np.cumsum(sizes)[:-1]):
        assert sorted(part.tolist()) == list(range(len(part)))


# as they stand, and streams


def test_in_order_is_as_they_stand():
    assert epoch_of(InOrder(Numbers(5)), 9).tolist() == [0, 1, 2, 3, 4]


def test_a_stream_keeps_its_order_and_cannot_be_shuffled():
    stream = source_of(5, sequential=True)
    assert epoch_of(load_ordering(None, stream, seed=1)).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(DataError, match=r"numbers is a stream, .*not shuffled; say"):
        load_ordering(Choice("shuffled"), stream, seed=1)


def test_an_order_that_is_not_known_is_told_with_the_nearest():
    with pytest.raises(DataError, match=r'loading\.order "shufled" is unknown; .*did you mean "shuffled"'):
        load_ordering(Choice("shufled"), Numbers(5), seed=1)


# with replacement


def test_with_replacement_every_epoch_draws_anew_and_all_samples_equally_often():
    ordering = WithReplacement(Numbers(100), seed=0, draws=20_000)
    counts = np.bincount(np.concatenate([epoch_of(ordering, epoch) for epoch in (0, 1)]), minlength=100)
    assert ((counts - 400) ** 2 / 400).sum() < 156  # 99 are expected, 14 is their deviation
    assert 600 < len(np.unique(epoch_of(WithReplacement(Numbers(1000), seed=0)))) < 664  # 1 - 1/e of all


def test_a_bootstrap_visits_the_same_samples_in_every_epoch_in_another_order():
    ordering = Bootstrap(Numbers(1000), seed=0)
    first, second = epoch_of(ordering, 0), epoch_of(ordering, 1)
    assert sorted(first) == sorted(second)
    assert first.tolist() != second.tolist()
    assert 600 < len(set(first)) < 664
    assert sorted(first) != sorted(epoch_of(Bootstrap(Numbers(1000), seed=1)))


def test_what_orders_draw_is_not_what_transforms_draw():
    drawn = WithReplacement(Numbers(1000), seed=4).take(0, 0, 1000)
    assert abs(np.corrcoef(drawn, Draws(4, 0, np.arange(1000)).uniform())[0, 1]) < 0.1


@pytest.mark.parametrize("order", [WithReplacement, Bootstrap])
def test_no_draws_at_all_are_refused(order):
    assert len(order(Numbers(10), seed=0, draws=25)) == 25
    with pytest.raises(DataError, match="0 draws from 10 samples are none; both must be at least 1"):
        order(Numbers(10), seed=0, draws=0)


# by class


def labelled(labels):
    return source_of(len(labels), labels=lambda: np.asarray(labels))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 99))
def test_every_window_has_each_class_once_and_no_sample_comes_again_before_its_class_is_through(labels, seed):
    ordering = ClassBalanced(labelled(labels), seed, draws=150)
    labels, classes = np.array(labels), len(set(labels))
    chosen = epoch_of(ordering, 0)
    whole = len(chosen) // classes * classes
    for window in chosen[:whole].reshape(-1, classes):
        assert sorted(labels[window]) == sorted(set(labels))
    for label in set(labels):
        mine, size = chosen[labels[chosen] == label], (labels == label).sum()
        for start in range(0, len(mine), size):
            assert len(set(mine[start : start + size])) == len(mine[start : start + size])


def test_a_large_class_goes_on_in_the_next_epoch_where_it_stopped():
    ordering = ClassBalanced(labelled([0] * 90 + [1] * 3), seed=0, draws=60)
    chosen = np.concatenate([epoch_of(ordering, epoch) for epoch in range(3)])
    assert sorted(chosen[chosen < 90]) == list(range(90))


def test_classes_come_in_an_order_that_changes_from_window_to_window():
    windows = epoch_of(ClassBalanced(labelled([7, 2, 5]), seed=0, draws=3000)).reshape(-1, 3)
    counts = Counter(map(tuple, windows.tolist()))
    assert len(counts) == 6
    assert 120 < min(counts.values()) <= max(counts.values()) < 215


def test_damaged_samples_are_no_class_of_their_own():
    ordering = ClassBalanced(labelled([-1] + [0] * 20 + [1] * 5), seed=0, draws=42)
    drawn = epoch_of(ordering).tolist()
    assert (drawn.count(0), sum(sample < 21 for sample in drawn)) == (1, 21)


def test_digits_and_parts_of_other_arrays_know_their_classes():
    for source in (digits()[0], hold_out(Arrays(np.zeros((50, 2)), np.arange(50) % 3))[0]):
        targets = source.read(epoch_of(ClassBalanced(source, seed=1, draws=30))).targets
        assert len(set(np.bincount(targets))) == 1


@pytest.mark.parametrize(
    "source, words",
    [
        (Numbers(4), r"numbers does not know the classes .* give your own source a method labels\(\)"),
        (labelled([0.5, 1.0]), r"labels\(\) gave float64 of shape \(2,\); give 2 whole numbers"),
        (source_of(3, labels=lambda: [1, 2]), r"labels\(\) gave int64 of shape \(2,\); give 3 whole numbers"),
        (Arrays(np.zeros((2, 1)), np.zeros(2)), "targets of float64 are no classes"),
        (hold_out(Numbers(9))[0], "numbers does not know the classes"),
    ],
    ids=["unknown", "fractions", "too few", "regression", "part"],
)
def test_classes_that_are_not_known_cannot_be_balanced(source, words):
    with pytest.raises(DataError, match=words):
        ClassBalanced(source, seed=0)


# by weight


def test_samples_come_in_proportion_to_their_weights_and_never_without_one():
    weights = np.array([0, 1, 3, 0, 6, 0], dtype=np.float32)
    counts = np.bincount(epoch_of(Weighted(Numbers(6), seed=0, weights=weights, draws=50_000)), minlength=6)
    assert np.abs(counts / 50_000 - weights / 10).max() < 0.01
    assert (counts[weights == 0] == 0).all()


@given(st.lists(st.sampled_from([0.0, 1e-300, 1.0, 1e300]), min_size=1, max_size=20).filter(any), st.integers(0, 9))
def test_a_sample_without_weight_is_not_drawn_whatever_the_others(weights, seed):
    chosen = epoch_of(Weighted(Numbers(len(weights)), seed, np.array(weights), draws=50))
    assert np.array(weights)[chosen].all()


def test_weights_are_read_from_a_file(tmp_path):
    np.save(tmp_path / "weights.npy", np.array([0, 1]))
    assert epoch_of(Weighted(Numbers(2), 0, str(tmp_path / "weights.npy"))).tolist() == [1, 1]
    with pytest.raises(DataError, match=r"none\.npy does not exist; order weighted needs a \.npy file"):
        Weighted(Numbers(2), 0, str(tmp_path / "none.npy"))


@pytest.mark.parametrize(
    "weights, words",
    [
        ([1, 2], r"the weights are int64 of shape \(2,\), but numbers has 3 samples; give one number for each"),
        (["a", "b", "c"], "the weights are <U1 of shape"),
        ([1.0, -2.0, np.nan], "the weight of sample 1 is -2.0, and 1 more are wrong; give numbers of 0 and above"),
        ([np.inf, 0, 0], "the weight of sample 0 is inf, and 0 more"),
        ([0, 0, 0], "all 3 weights are 0"),
    ],
)
def test_weights_that_cannot_be_drawn_by_are_refused(weights, words):
    with pytest.raises(DataError, match=words):
        Weighted(Numbers(3), 0, np.array(weights))
