"""The order that learns draws hard samples more often, and its weights undo what that would do to the mean."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from data_world import Numbers
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.orders.importance import Importance
from stretto.data.orders.sum_tree import SumTree
from stretto.errors import DataError

LOSSES = np.linspace(0.1, 4.0, 40) ** 2


def epoch_of(ordering, epoch=0):
    return ordering.take(epoch, 0, len(ordering))


def taught(losses=LOSSES, smoothing=0.2):
    """An order that has heard the loss of every sample often enough to know it."""
    ordering = Importance(Numbers(len(losses)), seed=0, smoothing=smoothing)
    for _ in range(30):
        ordering.learn(np.arange(len(losses)), losses)
    return ordering


def test_before_it_has_learned_all_samples_have_the_same_chance_and_weight():
    ordering = Importance(Numbers(5000), seed=1)
    chosen = epoch_of(ordering)
    assert ordering.weigh(0, chosen).eq(1).all()
    assert 3000 < len(set(chosen)) < 3320  # 1 - 1/e of all


def test_samples_come_in_proportion_to_their_loss_besides_the_even_share():
    ordering = taught(smoothing=0.25)
    chosen = np.concatenate([epoch_of(ordering, epoch) for epoch in range(2000)])
    expected = 0.25 / 40 + 0.75 * LOSSES / LOSSES.sum()
    counts = np.bincount(chosen, minlength=40) / len(chosen)
    assert np.abs(counts - expected).max() < 0.003
    torch.testing.assert_close(
        ordering.weigh(0, np.arange(40)), torch.from_numpy(1 / (40 * expected)).float(), rtol=1e-5, atol=0
    )


@pytest.mark.parametrize("smoothing", [0.1, 0.5, 1.0])
def test_the_weighted_mean_is_the_mean_of_all_samples(smoothing):
    values = np.random.default_rng(0).normal(size=40)  # something of a sample, such as one number of its gradient
    ordering = taught(smoothing=smoothing)
    chosen = np.concatenate([epoch_of(ordering, epoch) for epoch in range(3000)])
    weighted = values[chosen] * ordering.weigh(0, chosen).numpy()
    error = weighted.std() / len(weighted) ** 0.5
    assert abs(weighted.mean() - values.mean()) < 4 * error
    assert error < 0.02


def test_the_mean_stays_true_while_it_learns():
    values, ordering = np.arange(100.0), Importance(Numbers(100), seed=3)
    means = []
    for epoch in range(2000):
        chosen = ordering.take(epoch, 0, 50)
        means.append(np.mean(values[chosen] * ordering.weigh(epoch, chosen).numpy()))
        ordering.learn(chosen, 1 + values[chosen] / (1 + epoch % 7))
    assert abs(np.mean(means) - values.mean()) < 4 * np.std(means) / len(means) ** 0.5


def test_a_weight_is_that_of_the_moment_when_the_sample_was_drawn():
    ordering = taught()
    chosen = epoch_of(ordering)
    weights = ordering.weigh(0, chosen)
    ordering.learn(np.arange(40), np.ones(40))
    assert torch.equal(ordering.weigh(0, chosen), weights)


def test_what_has_not_come_yet_counts_as_the_first_losses_did():
    ordering = Importance(Numbers(1000), seed=0, smoothing=0.1)
    ordering.learn(np.arange(10), np.full(10, 2.0))
    for _ in range(30):
        ordering.learn(np.arange(10), np.zeros(10))
    assert (epoch_of(ordering) < 10).mean() < 0.01


def test_losses_that_are_no_numbers_are_passed_over():
    ordering = taught()
    ordering.learn(np.arange(3), np.array([np.nan, np.inf, -np.inf]))
    ordering.learn(np.arange(2), np.array([-5.0, -5.0]))  # as little as nothing
    assert np.isfinite(ordering.weigh(0, epoch_of(ordering)).numpy()).all()


def test_when_nothing_is_hard_any_more_all_samples_come_evenly_again():
    chosen = epoch_of(taught(np.zeros(2000)))
    assert 1200 < len(set(chosen)) < 1330


def test_threads_may_teach_it_while_others_draw():
    ordering, alone = taught(), taught()
    with ThreadPoolExecutor(4) as threads:
        draws = [threads.submit(ordering.take, epoch, 0, 40) for epoch in range(300)]
        lessons = [threads.submit(ordering.learn, np.arange(40), LOSSES * (1 + epoch % 3)) for epoch in range(300)]
        assert all(0 <= draw.result().min() <= draw.result().max() < 40 for draw in draws)
        assert [lesson.result() for lesson in lessons] == [None] * 300
    for each in (ordering, alone):  # nothing is left of a sum that somebody had half changed
        each.learn(np.arange(40), np.zeros(40))
        for _ in range(80):
            each.learn(np.arange(40), LOSSES)
    assert epoch_of(ordering).tolist() == epoch_of(alone).tolist()


@pytest.mark.parametrize("smoothing", [0.0, -1.0, 1.5])
def test_a_share_that_leaves_samples_without_a_chance_is_refused(smoothing):
    with pytest.raises(DataError, match=r"cannot be drawn evenly \(loading\.order\.smoothing\)"):
        Importance(Numbers(4), seed=0, smoothing=smoothing)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.data())
def test_a_sum_tree_finds_each_sample_where_a_cumulated_sum_does(weights, data):
    tree, size = SumTree(len(weights)), len(weights)
    tree.fill(1.0)
    assert tree.total == size
    changed = data.draw(st.permutations(range(size)))
    tree.set(np.array(changed), np.array(weights, dtype=float)[changed])
    values = np.arange(0, sum(weights), 0.5)
    assert tree.total == sum(weights)
    assert tree.find(values).tolist() == np.searchsorted(np.cumsum(weights), values, side="right").tolist()
    assert tree.get(np.arange(size)).tolist() == weights


def test_a_value_at_the_very_end_finds_a_sample_with_a_weight():
    tree = SumTree(5)
    tree.set(np.array([1, 2]), np.array([0.1, 0.2]))
    assert tree.find(np.array([tree.total, tree.total * 2])).tolist() == [2, 2]
